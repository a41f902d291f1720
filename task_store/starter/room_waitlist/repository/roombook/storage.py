"""The calendar as a JSON file."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from roombook.calendar import Calendar
from roombook.model import Booking, Member, WaitEntry

_TIMES = ("joined", "start", "end", "entered")


def load(path: Path) -> Calendar:
    """Read a calendar."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return Calendar(
        members=[Member(**_read(entry)) for entry in data["members"]],
        bookings=[Booking(**_read(entry)) for entry in data["bookings"]],
        waiting=[WaitEntry(**_read(entry)) for entry in data["waiting"]],
    )


def save(calendar: Calendar, path: Path) -> None:
    """Write a calendar in one step."""
    data = {
        "members": [_written(member) for member in calendar.members.values()],
        "bookings": [_written(booking) for booking in calendar.bookings.values()],
        "waiting": [_written(entry) for entry in calendar.waiting],
    }
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def _read(entry: dict) -> dict:
    return {k: datetime.fromisoformat(v) if k in _TIMES else v for k, v in entry.items()}


def _written(record: Member | Booking | WaitEntry) -> dict:
    fields = asdict(record)
    return {k: v.isoformat(timespec="minutes") if k in _TIMES else v for k, v in fields.items()}
