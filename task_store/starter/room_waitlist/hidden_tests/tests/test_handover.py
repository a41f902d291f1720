import contextlib
import io
import tempfile
import unittest
from datetime import datetime, timedelta
from pathlib import Path

from roombook.calendar import Calendar
from roombook.cli import main
from roombook.handover import hand_over
from roombook.model import Booking, Member, WaitEntry
from roombook.storage import load, save

NOON = datetime(2025, 5, 12, 12, 0)


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2025, 5, 12, hour, minute)


def member(name: str, kind: str = "guest", joined: int = 1) -> Member:
    return Member(name, kind, datetime(2024, joined, 1))


def entry(name: str, start: datetime, end: datetime, entered: int = 1, room: str = "Red room"):
    return WaitEntry(name, room, start, end, datetime(2025, 5, entered, 9, 0))


def past(number: int, name: str, days: float) -> Booking:
    start = NOON - timedelta(days=days)
    return Booking(number, name, "Blue room", start, start + timedelta(hours=1))


class HandOverTest(unittest.TestCase):
    def given(self, calendar: Calendar, freed: Booking, now: datetime = NOON) -> str | None:
        booking = hand_over(calendar, freed, now)
        return booking.member if booking else None

    def freed(self, start: datetime, end: datetime) -> Booking:
        return Booking(90, "ana", "Red room", start, end)

    def test_there_must_be_enough_notice(self):
        for minutes, expected in [(20, None), (61, None), (94, None), (95, "ben"), (110, "ben"),
                                  (300, "ben")]:
            start = NOON + timedelta(minutes=minutes)
            end = start + timedelta(hours=1)
            calendar = Calendar([member("ana"), member("ben")], [], [entry("ben", start, end)])

            with self.subTest(minutes=minutes):
                self.assertEqual(self.given(calendar, self.freed(start, end)), expected)
                self.assertEqual(len(calendar.waiting), 0 if expected else 1)

    def order(self, days_of_ben: list[float], days_of_cem: list[float]) -> str | None:
        """Ben entered first and joined first; the days are the ages of their bookings."""
        bookings = [past(n, "ben", days) for n, days in enumerate(days_of_ben, 1)]
        bookings += [past(n, "cem", days) for n, days in enumerate(days_of_cem, 50)]
        calendar = Calendar(
            [member("ana"), member("ben", joined=1), member("cem", joined=6)],
            bookings,
            [entry("ben", at(18), at(19), 2), entry("cem", at(18), at(19), 5)],
        )
        return self.given(calendar, self.freed(at(18), at(19)))

    def test_the_order_is_fair(self):
        self.assertEqual(self.order([3, 10], [5]), "cem")
        self.assertEqual(self.order([25.5, 10], [5]), "cem")
        self.assertEqual(self.order([10, 27, 29, 100], [5, 9]), "ben")
        self.assertEqual(self.order([20, 21], [2]), "cem")
        self.assertEqual(self.order([26, 10], [5]), "cem")
        self.assertEqual(self.order([26.01, 10], [5]), "ben")
        self.assertEqual(self.order([5, -1], [5]), "ben")

    def test_equal_members_are_served_as_they_came(self):
        self.assertEqual(self.order([4], [6]), "ben")

    def test_trainees(self):
        for start, expected in [(at(15), "cem"), (at(17), "cem"), (at(17, 29), "cem"),
                                (at(17, 30), "ben"), (at(19), "ben")]:
            end = start + timedelta(hours=1)
            calendar = Calendar(
                [member("ana"), member("ben", "trainee"), member("cem", "resident")],
                [],
                [entry("ben", start, end, 1), entry("cem", start, end, 2)],
            )
            with self.subTest(start=start):
                self.assertEqual(self.given(calendar, self.freed(start, end)), expected)

    def test_a_freed_time_may_begin_somewhat_later(self):
        for wanted, end, expected in [
            (at(18), at(19), (at(18), at(19))),
            (at(18), at(20), (at(18), at(20))),
            (at(18, 30), at(19), (at(18, 30), at(19))),
            (at(17, 40), at(19), (at(18), at(19))),
            (at(17, 35), at(19), (at(18), at(19))),
            (at(17, 34), at(19), None),
            (at(17, 30), at(19), None),
            (at(18), at(20, 5), None),
        ]:
            calendar = Calendar([member("ana"), member("ben")], [], [entry("ben", wanted, end)])

            with self.subTest(wanted=wanted, end=end):
                booking = hand_over(calendar, self.freed(at(18), at(20)), NOON)
                found = (booking.start, booking.end) if booking else None
                self.assertEqual(found, expected)

    def test_other_rooms_and_the_one_who_cancelled_do_not_count(self):
        calendar = Calendar(
            [member("ana"), member("ben"), member("cem")],
            [past(7, "cem", 3)],
            [entry("ana", at(18), at(19), 1), entry("ben", at(18), at(19), 2, room="Blue room"),
             entry("cem", at(18), at(19), 3)],
        )

        booking = hand_over(calendar, self.freed(at(18), at(20)), NOON)

        self.assertEqual(booking, Booking(8, "cem", "Red room", at(18), at(19)))
        self.assertEqual(calendar.bookings[8], booking)
        self.assertEqual([e.member for e in calendar.waiting], ["ana", "ben"])


class CommandTest(unittest.TestCase):
    def test_the_new_booking_is_printed(self):
        calendar = Calendar([member("ana"), member("ben")])
        calendar.book("ana", "Red room", at(18), at(20))
        calendar.book("ana", "Blue room", at(18), at(20))
        calendar.wait("ben", "Red room", at(18), at(19), at(9))
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rooms.json")
            save(calendar, path)

            with contextlib.redirect_stdout(printed):
                statuses = [main(["cancel", str(path), n], now=NOON) for n in ("1", "2")]
            stored = load(path)

        self.assertEqual(statuses, [0, 0])
        self.assertEqual(
            printed.getvalue().split("\n"),
            ["cancelled: 1  18:00-20:00  Red room  ana", "given to: 3  18:00-19:00  Red room  ben",
             "cancelled: 2  18:00-20:00  Blue room  ana", ""],
        )
        self.assertEqual([b.member for b in stored.bookings.values()], ["ben"])
        self.assertEqual(stored.waiting, [])
