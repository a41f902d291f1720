"""`concerts`: events in three halls, their tickets and the scans at the doors."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from scripts.starter_databases.draw import Draw

SCHEMA = """
CREATE TABLE halls (
    hall_id INTEGER PRIMARY KEY, hall_name TEXT NOT NULL, seats INTEGER NOT NULL);
CREATE TABLE ensembles (
    ensemble_id INTEGER PRIMARY KEY, ensemble_name TEXT NOT NULL, genre TEXT NOT NULL);
CREATE TABLE events (
    event_id INTEGER PRIMARY KEY, hall_id INTEGER NOT NULL REFERENCES halls,
    ensemble_id INTEGER NOT NULL REFERENCES ensembles, title TEXT NOT NULL,
    starts_at TEXT NOT NULL);
CREATE TABLE customers (
    customer_id INTEGER PRIMARY KEY, customer_name TEXT NOT NULL, town TEXT NOT NULL,
    subscriber INTEGER NOT NULL);
CREATE TABLE tickets (
    ticket_id INTEGER PRIMARY KEY, event_id INTEGER NOT NULL REFERENCES events,
    customer_id INTEGER NOT NULL REFERENCES customers, issued_on TEXT NOT NULL,
    kind TEXT NOT NULL, price_eur REAL NOT NULL);
CREATE TABLE scans (
    scan_id INTEGER PRIMARY KEY, ticket_id INTEGER NOT NULL REFERENCES tickets,
    scanned_at TEXT NOT NULL, door TEXT NOT NULL);
CREATE INDEX tickets_by_event ON tickets (event_id);
CREATE UNIQUE INDEX scans_by_ticket ON scans (ticket_id);
"""

_HALLS = [("Great Hall", 1200), ("Chamber Hall", 340), ("Studio", 110)]
_ENSEMBLES = [
    ("City Orchestra", "symphonic"), ("Quartetto Sereno", "chamber"), ("Bright Brass", "brass"),
    ("The Lowland Choir", "choral"), ("Nine Strings", "chamber"), ("Trio Marram", "jazz"),
    ("Harbour Big Band", "jazz"), ("Young Voices", "choral"),
]  # fmt: skip
_TITLES = ["Northern Light", "Night Music", "Letters Home", "Four Seasons", "Open Windows",
           "Homage", "River Songs", "First Light", "Old and New", "Dances"]  # fmt: skip
_NAMES = [
    "Aalto",
    "Berger",
    "Caruso",
    "Dvorak",
    "Ekman",
    "Ferri",
    "Gallo",
    "Holm",
    "Ivanov",
    "Janda",
]
_TOWNS = ["Marram", "Lowen", "Saltby", "Overbridge", "Tarn"]


def fill(connection: sqlite3.Connection, draw: Draw) -> None:
    """Write all rows of the database, the season from September 2024 to July 2025."""
    for hall_id, (name, seats) in enumerate(_HALLS, 1):
        connection.execute("INSERT INTO halls VALUES (?, ?, ?)", (hall_id, name, seats))
    for ensemble_id, (name, genre) in enumerate(_ENSEMBLES, 1):
        connection.execute("INSERT INTO ensembles VALUES (?, ?, ?)", (ensemble_id, name, genre))
    for customer_id in range(1, 421):
        customer = (customer_id, f"{draw.pick(_NAMES)} {draw.pick('ABCDEFGHKLM')}.",
                    draw.pick(_TOWNS), int(draw.chance(0.6)))  # fmt: skip
        connection.execute("INSERT INTO customers VALUES (?, ?, ?, ?)", customer)
    for event_id in range(1, 77):
        day = date(2024, 9, 12) + timedelta(days=4 * event_id + draw.integer(0, 3))
        starts = draw.moment(day, 19 * 60, 20 * 60)
        hall_id = draw.weighted([(1, 4), (2, 4), (3, 2)])
        event = (event_id, hall_id, draw.integer(1, len(_ENSEMBLES)),
                 f"{draw.pick(_TITLES)} {event_id}", f"{starts:%Y-%m-%d %H:%M}")  # fmt: skip
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", event)
        absence = draw.integer(8, 30) / 100
        for _ in range(draw.integer(25, 95)):
            _ticket(connection, draw, event_id, starts, absence)


def _ticket(
    connection: sqlite3.Connection, draw: Draw, event_id: int, starts: datetime, absence: float
) -> None:
    kind = draw.weighted([("regular", 6), ("reduced", 2), ("complimentary", 3)])
    issued = starts.date() - timedelta(days=draw.integer(0, 30))
    price = (
        0 if kind == "complimentary" else draw.integer(18, 64) * (0.5 if kind == "reduced" else 1)
    )
    ticket = (event_id, draw.integer(1, 420), str(issued), kind, price)
    cursor = connection.execute(
        "INSERT INTO tickets (event_id, customer_id, issued_on, kind, price_eur)"
        " VALUES (?, ?, ?, ?, ?)",
        ticket,
    )
    missing = absence + 0.15 if kind == "complimentary" else absence
    if not draw.chance(missing):
        after = draw.integer(1, 80) if draw.chance(0.18) else -draw.integer(1, 55)
        scanned = starts + timedelta(minutes=after)
        connection.execute(
            "INSERT INTO scans (ticket_id, scanned_at, door) VALUES (?, ?, ?)",
            (cursor.lastrowid, f"{scanned:%Y-%m-%d %H:%M}", draw.pick(["A", "B", "C"])),
        )
