"""`greenhouses`: a grower's houses, their sensors, hourly temperatures and heating bills."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from scripts.starter_databases.draw import Draw

SCHEMA = """
CREATE TABLE farms (
    farm_id INTEGER PRIMARY KEY, farm_name TEXT NOT NULL, altitude_m INTEGER NOT NULL);
CREATE TABLE crops (
    crop_id INTEGER PRIMARY KEY, crop_name TEXT NOT NULL, crop_group TEXT NOT NULL,
    comfort_min_c REAL NOT NULL);
CREATE TABLE houses (
    house_id INTEGER PRIMARY KEY, farm_id INTEGER NOT NULL REFERENCES farms,
    house_name TEXT NOT NULL, glazing TEXT NOT NULL, area_m2 INTEGER NOT NULL);
CREATE TABLE plantings (
    planting_id INTEGER PRIMARY KEY, house_id INTEGER NOT NULL REFERENCES houses,
    crop_id INTEGER NOT NULL REFERENCES crops, planted_on TEXT NOT NULL, trays INTEGER NOT NULL);
CREATE TABLE sensors (
    sensor_id INTEGER PRIMARY KEY, house_id INTEGER NOT NULL REFERENCES houses,
    model TEXT NOT NULL, mounted_on TEXT NOT NULL);
CREATE TABLE readings (
    reading_id INTEGER PRIMARY KEY, sensor_id INTEGER NOT NULL REFERENCES sensors,
    day TEXT NOT NULL, hour INTEGER NOT NULL, temp_c REAL NOT NULL, battery_v REAL NOT NULL,
    suspect INTEGER NOT NULL);
CREATE TABLE heating (
    heating_id INTEGER PRIMARY KEY, house_id INTEGER NOT NULL REFERENCES houses,
    day TEXT NOT NULL, energy_kwh REAL NOT NULL);
"""

_FARMS = [("Lower Field", 60), ("Mill Rise", 180), ("Stone Hill", 340)]
_CROPS = [
    ("tomato", "fruit", 12.0), ("pepper", "fruit", 13.0), ("cucumber", "fruit", 14.0),
    ("basil", "herb", 11.0), ("parsley", "herb", 6.0), ("pansy", "flower", 4.0),
    ("cyclamen", "flower", 9.0), ("lettuce", "leaf", 5.0),
]  # fmt: skip
_FIRST_DAY = date(2025, 3, 1)


def fill(connection: sqlite3.Connection, draw: Draw) -> None:
    """Write all rows of the database, March 2025 hour by hour."""
    connection.executemany(
        "INSERT INTO farms VALUES (?, ?, ?)", [(n, *farm) for n, farm in enumerate(_FARMS, 1)]
    )
    connection.executemany(
        "INSERT INTO crops VALUES (?, ?, ?, ?)", [(n, *crop) for n, crop in enumerate(_CROPS, 1)]
    )
    for house_id in range(1, 12):
        farm_id = 1 + (house_id - 1) % len(_FARMS)
        area = draw.integer(18, 90) * 10
        glazing = draw.pick(["glass", "double glass", "film"])
        house = (house_id, farm_id, f"House {house_id}", glazing, area)
        connection.execute("INSERT INTO houses VALUES (?, ?, ?, ?, ?)", house)
        sensor = (house_id, house_id, draw.pick(["T-100", "T-200"]), str(date(2024, 10, house_id)))
        connection.execute("INSERT INTO sensors VALUES (?, ?, ?, ?)", sensor)
        for _ in range(draw.integer(1, 3)):
            planted = draw.day(date(2024, 12, 15), date(2025, 2, 27))
            connection.execute(
                "INSERT INTO plantings (house_id, crop_id, planted_on, trays) VALUES (?, ?, ?, ?)",
                (house_id, draw.integer(1, len(_CROPS)), str(planted), draw.integer(12, 80)),
            )
        _month(connection, draw, house_id, base=11.5 - 1.4 * farm_id + draw.integer(-8, 8) / 10)


def _month(connection: sqlite3.Connection, draw: Draw, house_id: int, *, base: float) -> None:
    battery = 3.6 - draw.integer(0, 30) / 100
    for day_number in range(31):
        day = _FIRST_DAY + timedelta(days=day_number)
        level = base + draw.integer(-45, 45) / 10
        coldest = draw.integer(-3, 7)  # hour of the lowest temperature; negative is the evening
        for hour in range(24):
            distance = min(abs(hour - coldest), abs(hour - 24 - coldest))
            temperature = round(level + 0.8 * distance + draw.integer(-6, 6) / 10, 1)
            suspect = draw.chance(0.14)
            if suspect:
                temperature = round(temperature - draw.integer(5, 35) / 10, 1)
            volts = round(battery - day_number * 0.012 - draw.integer(0, 20) / 100, 2)
            connection.execute(
                "INSERT INTO readings (sensor_id, day, hour, temp_c, battery_v, suspect)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (house_id, str(day), hour, temperature, volts, int(suspect)),
            )
        connection.execute(
            "INSERT INTO heating (house_id, day, energy_kwh) VALUES (?, ?, ?)",
            (house_id, str(day), round(120 - 5 * level + draw.integer(0, 200) / 10, 1)),
        )
