"""The commands."""

from __future__ import annotations

import argparse
from datetime import date, datetime
from pathlib import Path

from roombook.calendar import RefusedError
from roombook.model import Booking
from roombook.storage import load, save


def build_parser() -> argparse.ArgumentParser:
    """The parser with every command."""
    parser = argparse.ArgumentParser(prog="roombook")
    commands = parser.add_subparsers(dest="command", required=True)
    day = commands.add_parser("day", help="show the bookings of a day")
    day.add_argument("file", type=Path)
    day.add_argument("day", type=date.fromisoformat)
    for name, text in [("book", "book a room"), ("wait", "wait for a room")]:
        command = commands.add_parser(name, help=text)
        command.add_argument("file", type=Path)
        command.add_argument("member")
        command.add_argument("room")
        command.add_argument("start", type=datetime.fromisoformat)
        command.add_argument("end", type=datetime.fromisoformat)
    cancel = commands.add_parser("cancel", help="cancel a booking")
    cancel.add_argument("file", type=Path)
    cancel.add_argument("number", type=int)
    return parser


def described(booking: Booking) -> str:
    """One line for a booking."""
    times = f"{booking.start:%H:%M}-{booking.end:%H:%M}"
    return f"{booking.number}  {times}  {booking.room}  {booking.member}"


def main(arguments: list[str], now: datetime | None = None) -> int:
    """Run one command; returns the exit status."""
    options = build_parser().parse_args(arguments)
    now = now or datetime.now()
    calendar = load(options.file)
    try:
        if options.command == "day":
            for booking in calendar.of_day(options.day):
                print(described(booking))
            return 0
        if options.command == "book":
            booking = calendar.book(options.member, options.room, options.start, options.end)
            print(described(booking))
        elif options.command == "wait":
            calendar.wait(options.member, options.room, options.start, options.end, now)
        else:
            print(f"cancelled: {described(calendar.cancel(options.number, now))}")
    except RefusedError as refused:
        print(refused)
        return 1
    save(calendar, options.file)
    return 0
