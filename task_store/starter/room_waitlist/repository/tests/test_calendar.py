import unittest
from datetime import date, datetime

from roombook.calendar import Calendar, RefusedError
from roombook.model import Member

JOINED = datetime(2024, 1, 1)


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2025, 5, 12, hour, minute)


def sample() -> Calendar:
    return Calendar([Member("ana", "resident", JOINED), Member("ben", "guest", JOINED)])


class CalendarTest(unittest.TestCase):
    def test_a_room_is_booked_once(self):
        calendar = sample()
        calendar.book("ana", "Red room", at(18), at(20))

        with self.assertRaises(RefusedError):
            calendar.book("ben", "Red room", at(19), at(21))
        self.assertEqual(calendar.book("ben", "Red room", at(20), at(21)).number, 2)

    def test_rules_are_kept(self):
        for member, start, end in [("eve", at(9), at(10)), ("ana", at(9), at(12)),
                                   ("ana", at(7), at(9)), ("ana", at(10), at(9))]:
            with self.subTest(member=member, start=start), self.assertRaises(RefusedError):
                sample().book(member, "Red room", start, end)

    def test_a_day_is_sorted(self):
        calendar = sample()
        calendar.book("ana", "Red room", at(18), at(20))
        calendar.book("ben", "Blue room", at(9), at(10))

        self.assertEqual([b.number for b in calendar.of_day(date(2025, 5, 12))], [2, 1])

    def test_a_booking_is_cancelled_before_it_begins(self):
        calendar = sample()
        booking = calendar.book("ana", "Red room", at(18), at(20))

        with self.assertRaises(RefusedError):
            calendar.cancel(booking.number, at(18, 1))
        self.assertEqual(calendar.cancel(booking.number, at(12)), booking)
        self.assertTrue(calendar.is_free("Red room", at(18), at(20)))
