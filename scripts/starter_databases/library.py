"""`library`: branches of a city library, members, copies, loans and fines."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from scripts.starter_databases.draw import Draw

SCHEMA = """
CREATE TABLE branches (
    branch_id INTEGER PRIMARY KEY, branch_name TEXT NOT NULL, quarter TEXT NOT NULL);
CREATE TABLE members (
    member_id INTEGER PRIMARY KEY, member_name TEXT NOT NULL, card TEXT NOT NULL,
    born_on TEXT NOT NULL, joined_on TEXT NOT NULL);
CREATE TABLE titles (
    title_id INTEGER PRIMARY KEY, title TEXT NOT NULL, medium TEXT NOT NULL,
    shelf TEXT NOT NULL);
CREATE TABLE copies (
    copy_id INTEGER PRIMARY KEY, title_id INTEGER NOT NULL REFERENCES titles,
    branch_id INTEGER NOT NULL REFERENCES branches, bought_on TEXT NOT NULL);
CREATE TABLE loans (
    loan_id INTEGER PRIMARY KEY, copy_id INTEGER NOT NULL REFERENCES copies,
    member_id INTEGER NOT NULL REFERENCES members, lent_on TEXT NOT NULL, due_on TEXT NOT NULL,
    renewals INTEGER NOT NULL, returned_on TEXT);
CREATE TABLE fines (
    fine_id INTEGER PRIMARY KEY, loan_id INTEGER NOT NULL REFERENCES loans,
    booked_on TEXT NOT NULL, amount_eur REAL NOT NULL, paid INTEGER NOT NULL);
"""

_BRANCHES = [
    ("Central", "Old Town"), ("Quayside", "Harbour"), ("Northgate", "North"), ("Meadow", "North"),
    ("Foundry", "East"), ("Linden", "West"), ("Hillcrest", "West"),
]  # fmt: skip
_NAMES = ["Ames", "Bolt", "Crane", "Duke", "Ellis", "Frost", "Gale", "Hart", "Innes", "Joyce"]
_WORDS = [
    "Winter",
    "Garden",
    "Silent",
    "Paper",
    "Glass",
    "River",
    "Copper",
    "Lost",
    "Seven",
    "Salt",
]
_NOUNS = [
    "House",
    "Letters",
    "Boat",
    "Orchard",
    "Clock",
    "Road",
    "Island",
    "Harvest",
    "Bridge",
    "Key",
]


def fill(connection: sqlite3.Connection, draw: Draw) -> None:
    """Write all rows of the database, loans of the year 2024."""
    for branch_id, (name, quarter) in enumerate(_BRANCHES, 1):
        connection.execute("INSERT INTO branches VALUES (?, ?, ?)", (branch_id, name, quarter))
    for member_id in range(1, 401):
        _member(connection, draw, member_id)
    for title_id in range(1, 181):
        name = f"The {draw.pick(_WORDS)} {draw.pick(_NOUNS)}"
        medium = draw.weighted([("book", 7), ("audio", 2), ("film", 1)])
        shelf = draw.pick(["fiction", "non-fiction", "children", "young adult"])
        title = (title_id, name, medium, shelf)
        connection.execute("INSERT INTO titles VALUES (?, ?, ?, ?)", title)
    for copy_id in range(1, 521):
        bought = draw.day(date(2015, 1, 1), date(2023, 12, 1))
        copy = (copy_id, draw.integer(1, 180), draw.integer(1, len(_BRANCHES)), str(bought))
        connection.execute("INSERT INTO copies VALUES (?, ?, ?, ?)", copy)
    for loan_id in range(1, 3201):
        _loan(connection, draw, loan_id)


def _member(connection: sqlite3.Connection, draw: Draw, member_id: int) -> None:
    born = draw.day(date(2006, 1, 1), date(2018, 12, 31))
    if draw.chance(0.35):
        born = draw.day(date(1948, 1, 1), date(2005, 12, 31))
    grown = born < date(2006, 1, 1)
    # Cards are kept when their holder grows up, and some children borrow on a family card.
    card = draw.weighted([("adult", 8), ("junior", 1), ("family", 2)]) if grown else (
        draw.weighted([("junior", 7), ("adult", 1), ("family", 3)])
    )  # fmt: skip
    joined = draw.day(date(2019, 1, 5), date(2023, 12, 20))
    member = (
        member_id,
        f"{draw.pick(_NAMES)} {draw.pick('ABCDEFGH')}.",
        card,
        str(born),
        str(joined),
    )
    connection.execute("INSERT INTO members VALUES (?, ?, ?, ?, ?)", member)


def _loan(connection: sqlite3.Connection, draw: Draw, loan_id: int) -> None:
    lent = draw.day(date(2024, 1, 2), date(2024, 10, 31))
    renewals = draw.weighted([(0, 6), (1, 3), (2, 2), (3, 2), (4, 1)])
    due = lent + timedelta(days=21 * (1 + renewals))
    returned: date | None = due - timedelta(days=draw.integer(0, 20))
    if draw.chance(0.45):
        returned = due + timedelta(days=draw.integer(1, 90))
    elif draw.chance(0.06):
        returned = None
    loan = (loan_id, draw.integer(1, 520), draw.integer(1, 400), str(lent), str(due), renewals,
            str(returned) if returned else None)  # fmt: skip
    connection.execute("INSERT INTO loans VALUES (?, ?, ?, ?, ?, ?, ?)", loan)
    if returned and returned > due and draw.chance(0.7):
        amount = round(min((returned - due).days * 0.1, 6.0), 2)
        connection.execute(
            "INSERT INTO fines (loan_id, booked_on, amount_eur, paid) VALUES (?, ?, ?, ?)",
            (loan_id, str(returned), amount, int(draw.chance(0.6))),
        )
