"""`charging`: an operator's charging sites, chargers, drivers and charging sessions."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from scripts.starter_databases.draw import Draw

SCHEMA = """
CREATE TABLE operators (
    operator_id INTEGER PRIMARY KEY, operator_name TEXT NOT NULL);
CREATE TABLE sites (
    site_id INTEGER PRIMARY KEY, operator_id INTEGER NOT NULL REFERENCES operators,
    site_name TEXT NOT NULL, setting TEXT NOT NULL, opened_on TEXT NOT NULL);
CREATE TABLE chargers (
    charger_id INTEGER PRIMARY KEY, site_id INTEGER NOT NULL REFERENCES sites,
    current_kind TEXT NOT NULL, power_kw INTEGER NOT NULL);
CREATE TABLE drivers (
    driver_id INTEGER PRIMARY KEY, driver_name TEXT NOT NULL, account TEXT NOT NULL,
    signed_up_on TEXT NOT NULL);
CREATE TABLE sessions (
    session_id INTEGER PRIMARY KEY, charger_id INTEGER NOT NULL REFERENCES chargers,
    driver_id INTEGER NOT NULL REFERENCES drivers, plugged_at TEXT NOT NULL,
    charge_ended_at TEXT NOT NULL, unplugged_at TEXT NOT NULL, energy_kwh REAL NOT NULL);
CREATE TABLE faults (
    fault_id INTEGER PRIMARY KEY, charger_id INTEGER NOT NULL REFERENCES chargers,
    reported_on TEXT NOT NULL, cleared_on TEXT, cause TEXT NOT NULL);
"""

_SITES = [
    ("Airport North", "car park"), ("Birch Retail Park", "shops"), ("Central Station", "car park"),
    ("Dale Services", "motorway"), ("Eastfield Mall", "shops"), ("Ferry Terminal", "car park"),
    ("Granary Quarter", "street"), ("Hill Services", "motorway"), ("Ivy Lane", "street"),
    ("Jubilee Pool", "leisure"), ("King's Stadium", "leisure"), ("Lake View", "street"),
]  # fmt: skip
_NAMES = ["Amari", "Blake", "Chen", "Diaz", "Elias", "Farah", "Gomez", "Hayes", "Idris", "Jones"]


def fill(connection: sqlite3.Connection, draw: Draw) -> None:
    """Write all rows of the database, sessions of April to June 2025."""
    connection.executemany(
        "INSERT INTO operators VALUES (?, ?)", [(1, "Voltway"), (2, "Amp & Co"), (3, "City Grid")]
    )
    chargers: list[tuple[int, int]] = []
    for site_id, (name, setting) in enumerate(_SITES, 1):
        opened = draw.day(date(2020, 5, 1), date(2024, 11, 30))
        site = (site_id, draw.integer(1, 3), name, setting, str(opened))
        connection.execute("INSERT INTO sites VALUES (?, ?, ?, ?, ?)", site)
        popularity = draw.integer(2, 9)
        for _ in range(draw.integer(4, 7)):
            charger_id = len(chargers) + 1
            power = draw.pick([11, 22, 43, 50, 50, 75, 100, 150, 300])
            kind = "AC" if power <= 43 else "DC"
            charger = (charger_id, site_id, kind, power)
            connection.execute("INSERT INTO chargers VALUES (?, ?, ?, ?)", charger)
            chargers.append((charger_id, popularity))
            if draw.chance(0.5):
                _fault(connection, draw, charger_id)
    for driver_id in range(1, 351):
        account = draw.weighted([("guest", 3), ("member", 5), ("fleet", 2)])
        signed_up = draw.day(date(2021, 1, 1), date(2025, 3, 30))
        driver = (
            driver_id,
            f"{draw.pick(_NAMES)} {draw.pick('ABCDEFGH')}.",
            account,
            str(signed_up),
        )
        connection.execute("INSERT INTO drivers VALUES (?, ?, ?, ?)", driver)
    for session_id in range(1, 3201):
        _session(connection, draw, session_id, draw.weighted(chargers))


def _fault(connection: sqlite3.Connection, draw: Draw, charger_id: int) -> None:
    reported = draw.day(date(2025, 4, 1), date(2025, 6, 20))
    cleared = str(reported + timedelta(days=draw.integer(0, 9))) if draw.chance(0.9) else None
    cause = draw.pick(["cable", "card reader", "screen", "network", "cooling"])
    connection.execute(
        "INSERT INTO faults (charger_id, reported_on, cleared_on, cause) VALUES (?, ?, ?, ?)",
        (charger_id, str(reported), cleared, cause),
    )


def _session(connection: sqlite3.Connection, draw: Draw, session_id: int, charger_id: int) -> None:
    day = draw.day(date(2025, 4, 1), date(2025, 6, 30))
    plugged = draw.moment(day, 4 * 60, 22 * 60)
    ended = plugged + timedelta(minutes=draw.integer(12, 95))
    idle = draw.integer(0, 14) if draw.chance(0.45) else draw.integer(10, 150)
    unplugged = ended + timedelta(minutes=idle)
    session = (session_id, charger_id, draw.integer(1, 350), f"{plugged:%Y-%m-%d %H:%M}",
               f"{ended:%Y-%m-%d %H:%M}", f"{unplugged:%Y-%m-%d %H:%M}",
               draw.integer(40, 620) / 10)  # fmt: skip
    connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", session)
