"""`vets`: branches of a veterinary practice, their patients, visits and vaccinations."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from scripts.starter_databases.draw import Draw

SCHEMA = """
CREATE TABLE branches (
    branch_id INTEGER PRIMARY KEY, branch_name TEXT NOT NULL, county TEXT NOT NULL);
CREATE TABLE vets (
    vet_id INTEGER PRIMARY KEY, branch_id INTEGER NOT NULL REFERENCES branches,
    vet_name TEXT NOT NULL, speciality TEXT NOT NULL);
CREATE TABLE owners (
    owner_id INTEGER PRIMARY KEY, owner_name TEXT NOT NULL, postcode TEXT NOT NULL,
    registered_on TEXT NOT NULL, opted_out_on TEXT);
CREATE TABLE patients (
    patient_id INTEGER PRIMARY KEY, owner_id INTEGER NOT NULL REFERENCES owners,
    branch_id INTEGER NOT NULL REFERENCES branches, pet_name TEXT NOT NULL,
    species TEXT NOT NULL, size_group TEXT NOT NULL, born_on TEXT NOT NULL, died_on TEXT);
CREATE TABLE visits (
    visit_id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patients,
    vet_id INTEGER NOT NULL REFERENCES vets, visited_on TEXT NOT NULL, reason TEXT NOT NULL,
    weight_kg REAL NOT NULL, fee_eur REAL NOT NULL);
CREATE TABLE vaccinations (
    vaccination_id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patients,
    vaccine TEXT NOT NULL, given_on TEXT NOT NULL, next_due_on TEXT NOT NULL);
CREATE INDEX patients_by_owner ON patients (owner_id);
CREATE INDEX visits_by_patient ON visits (patient_id);
"""

_BRANCHES = [
    ("Alder Street", "Westmoor"), ("Birch Road", "Westmoor"), ("Canal Side", "Lowfield"),
    ("Dovecote", "Lowfield"), ("Elm Park", "Highdale"), ("Ferry Lane", "Highdale"),
]  # fmt: skip
_PETS = ["Bruno", "Luna", "Max", "Nala", "Oscar", "Pippa", "Rex", "Sunny", "Tilly", "Whisky"]
_NAMES = [
    "Adler",
    "Bishop",
    "Clarke",
    "Dunne",
    "Egan",
    "Fowler",
    "Grant",
    "Hobbs",
    "Irwin",
    "Jarvis",
]
_STANDARD_KG = {"small": 7, "medium": 17, "large": 29}


def fill(connection: sqlite3.Connection, draw: Draw) -> None:
    """Write all rows of the database, from 2022 to the end of June 2025."""
    for branch_id, (name, county) in enumerate(_BRANCHES, 1):
        connection.execute("INSERT INTO branches VALUES (?, ?, ?)", (branch_id, name, county))
    for vet_id in range(1, 19):
        field = draw.pick(["general", "surgery", "dentistry", "dermatology"])
        vet = (vet_id, 1 + (vet_id - 1) % len(_BRANCHES), f"Dr {draw.pick(_NAMES)}", field)
        connection.execute("INSERT INTO vets VALUES (?, ?, ?, ?)", vet)
    patient_id = 0
    for owner_id in range(1, 701):
        _owner(connection, draw, owner_id)
        for _ in range(draw.weighted([(1, 6), (2, 3), (3, 1)])):
            patient_id += 1
            _patient(connection, draw, patient_id, owner_id)


def _owner(connection: sqlite3.Connection, draw: Draw, owner_id: int) -> None:
    registered = draw.day(date(2019, 1, 7), date(2024, 3, 1))
    opted_out = draw.day(date(2024, 4, 2), date(2025, 6, 20)) if draw.chance(0.35) else None
    postcode = f"{draw.pick('KLMN')}{draw.integer(11, 48)}"
    owner = (owner_id, f"{draw.pick(_NAMES)}, {draw.pick('ABCDEFGH')}.", postcode,
             str(registered), str(opted_out) if opted_out else None)  # fmt: skip
    connection.execute("INSERT INTO owners VALUES (?, ?, ?, ?, ?)", owner)


def _patient(connection: sqlite3.Connection, draw: Draw, patient_id: int, owner_id: int) -> None:
    branch_id = draw.integer(1, len(_BRANCHES))
    species = draw.weighted([("dog", 6), ("cat", 3), ("rabbit", 1)])
    size = (
        draw.weighted([("small", 3), ("medium", 4), ("large", 5)]) if species == "dog" else "small"
    )
    born = draw.day(date(2012, 1, 1), date(2022, 6, 1))
    died = str(draw.day(date(2024, 8, 1), date(2025, 6, 25))) if draw.chance(0.06) else None
    patient = (patient_id, owner_id, branch_id, draw.pick(_PETS), species, size, str(born), died)
    connection.execute("INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?, ?, ?)", patient)
    weight = _STANDARD_KG[size] * draw.integer(75, 135) / 100
    for _ in range(draw.integer(1, 6)):
        day = draw.day(date(2022, 7, 1), date(2025, 6, 30))
        reason = draw.weighted([("check-up", 4), ("illness", 3), ("injury", 1), ("vaccination", 4)])
        vet_id = branch_id + len(_BRANCHES) * draw.integer(0, 2)
        kilos = round(weight * draw.integer(93, 107) / 100, 1)
        visit = (patient_id, vet_id, str(day), reason, kilos, draw.integer(70, 390) / 2)
        connection.execute(
            "INSERT INTO visits (patient_id, vet_id, visited_on, reason, weight_kg, fee_eur)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            visit,
        )
    for vaccine in ["distemper", "rabies"] if species == "dog" else ["feline flu"]:
        given = draw.day(date(2023, 11, 1), date(2025, 5, 20))
        due = given + timedelta(days=draw.pick([364, 365, 371]))
        connection.execute(
            "INSERT INTO vaccinations (patient_id, vaccine, given_on, next_due_on)"
            " VALUES (?, ?, ?, ?)",
            (patient_id, vaccine, str(given), str(due)),
        )
