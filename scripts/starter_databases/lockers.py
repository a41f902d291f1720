"""`lockers`: parcels brought to locker sites by couriers and collected by customers."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from scripts.starter_databases.draw import Draw

SCHEMA = """
CREATE TABLE depots (
    depot_id INTEGER PRIMARY KEY, depot_name TEXT NOT NULL, region TEXT NOT NULL);
CREATE TABLE sites (
    site_id INTEGER PRIMARY KEY, depot_id INTEGER NOT NULL REFERENCES depots,
    site_name TEXT NOT NULL, site_kind TEXT NOT NULL, status TEXT NOT NULL,
    compartments INTEGER NOT NULL, opened_on TEXT NOT NULL);
CREATE TABLE couriers (
    courier_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, contract TEXT NOT NULL,
    depot_id INTEGER NOT NULL REFERENCES depots);
CREATE TABLE merchants (
    merchant_id INTEGER PRIMARY KEY, merchant_name TEXT NOT NULL, tier TEXT NOT NULL);
CREATE TABLE parcels (
    parcel_id INTEGER PRIMARY KEY, merchant_id INTEGER NOT NULL REFERENCES merchants,
    service TEXT NOT NULL, size_class TEXT NOT NULL, weight_g INTEGER NOT NULL);
CREATE TABLE drop_offs (
    drop_id INTEGER PRIMARY KEY, site_id INTEGER NOT NULL REFERENCES sites,
    courier_id INTEGER NOT NULL REFERENCES couriers,
    parcel_id INTEGER NOT NULL REFERENCES parcels, planned_at TEXT NOT NULL,
    dropped_at TEXT NOT NULL, scan_source TEXT NOT NULL, keyed_after_min INTEGER);
CREATE TABLE pickups (
    pickup_id INTEGER PRIMARY KEY, drop_id INTEGER NOT NULL REFERENCES drop_offs,
    collected_at TEXT NOT NULL, method TEXT NOT NULL);
CREATE INDEX drop_offs_by_site ON drop_offs (site_id);
"""

_DEPOTS = [
    ("Aldham", "North"), ("Brackwater", "North"), ("Corley", "Coast"), ("Dunmere", "Coast"),
    ("Eastwick", "Valley"), ("Fenbridge", "Valley"), ("Garrow", "City"), ("Hollin", "City"),
]  # fmt: skip
_PLACES = [
    "Market Square",
    "Station",
    "Mill Lane",
    "Library",
    "Harbour",
    "Old Dairy",
    "School Road",
]
_FIRST = [
    "Ana",
    "Bela",
    "Cem",
    "Dora",
    "Emil",
    "Fay",
    "Goran",
    "Hana",
    "Ivo",
    "Jale",
    "Karl",
    "Lin",
]
_LAST = ["Abel", "Brand", "Costa", "Dietz", "Evans", "Fuchs", "Gruber", "Horvat", "Iversen", "Jung"]
_SHOPS = ["Paper Kite", "Bluebell Tea", "Nordic Knit", "Cycle Barn", "Lumen Books", "Petit Pot",
          "Green Thumb", "Atelier Nine", "Sound Shed", "Oak & Iron", "Daily Bean",
          "Little Fox"]  # fmt: skip


def fill(connection: sqlite3.Connection, draw: Draw) -> None:
    """Write all rows of the database, January to April 2025."""
    depot_rows = [(n, name, region) for n, (name, region) in enumerate(_DEPOTS, 1)]
    connection.executemany("INSERT INTO depots VALUES (?, ?, ?)", depot_rows)
    sites = _sites(connection, draw)
    _people_and_shops(connection, draw)
    drop_id = 0
    for day_number in range(120):
        day = date(2025, 1, 1) + timedelta(days=day_number)
        for _ in range(draw.integer(14, 22)):
            drop_id += 1
            _one_parcel(connection, draw, drop_id, day, draw.weighted(sites))


def _sites(connection: sqlite3.Connection, draw: Draw) -> list[tuple[int, int]]:
    weights: list[tuple[int, int]] = []
    for site_id in range(1, 49):
        depot_id = 1 + (site_id - 1) % len(_DEPOTS)
        name = f"{_DEPOTS[depot_id - 1][0]} {draw.pick(_PLACES)} {site_id}"
        kind = draw.weighted([("station", 3), ("shop", 4), ("kerbside", 2)])
        status = draw.weighted([("live", 7), ("paused", 2), ("retired", 1)])
        opened = draw.day(date(2021, 3, 1), date(2024, 12, 20))
        row = (site_id, depot_id, name, kind, status, draw.pick([24, 36, 48, 72]), str(opened))
        connection.execute("INSERT INTO sites VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        weights.append((site_id, draw.integer(0, 2) if status == "retired" else draw.integer(2, 9)))
    return weights


def _people_and_shops(connection: sqlite3.Connection, draw: Draw) -> None:
    for courier_id in range(1, 65):
        name = f"{draw.pick(_FIRST)} {draw.pick(_LAST)}"
        contract = draw.weighted([("employed", 5), ("agency", 3), ("partner", 2)])
        row = (courier_id, name, contract, 1 + (courier_id - 1) % len(_DEPOTS))
        connection.execute("INSERT INTO couriers VALUES (?, ?, ?, ?)", row)
    for merchant_id, shop in enumerate(_SHOPS, 1):
        row = (merchant_id, shop, draw.pick(["bronze", "silver", "gold"]))
        connection.execute("INSERT INTO merchants VALUES (?, ?, ?)", row)


def _one_parcel(
    connection: sqlite3.Connection, draw: Draw, drop_id: int, day: date, site_id: int
) -> None:
    service = draw.weighted([("standard", 6), ("express", 3), ("return", 2)])
    size = draw.weighted([("S", 4), ("M", 3), ("L", 2)])
    parcel = (drop_id, draw.integer(1, len(_SHOPS)), service, size, draw.integer(8, 900) * 10)
    connection.execute("INSERT INTO parcels VALUES (?, ?, ?, ?, ?)", parcel)
    depot_id = 1 + (site_id - 1) % len(_DEPOTS)
    courier_id = depot_id + len(_DEPOTS) * draw.integer(0, 7)
    evening = draw.chance(0.4)
    planned = draw.moment(day, 17 * 60 if evening else 7 * 60, 21 * 60 if evening else 17 * 60)
    late_by = draw.integer(-30, 20) if draw.chance(0.7) else draw.integer(20, 170)
    dropped = planned + timedelta(minutes=late_by)
    scan = draw.weighted([("handheld", 5), ("locker", 3), ("manual", 3)])
    keyed_after = draw.integer(3, 95) if scan == "manual" else None
    drop = (drop_id, site_id, courier_id, drop_id, f"{planned:%Y-%m-%d %H:%M}",
            f"{dropped:%Y-%m-%d %H:%M}", scan, keyed_after)  # fmt: skip
    connection.execute("INSERT INTO drop_offs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", drop)
    if draw.chance(0.93):
        collected = dropped + timedelta(minutes=draw.integer(25, 5200))
        method = draw.weighted([("code", 6), ("app", 5), ("counter", 1)])
        pickup = (drop_id, drop_id, f"{collected:%Y-%m-%d %H:%M}", method)
        connection.execute("INSERT INTO pickups VALUES (?, ?, ?, ?)", pickup)
