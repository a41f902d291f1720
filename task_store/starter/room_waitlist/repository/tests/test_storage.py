import tempfile
import unittest
from pathlib import Path

from roombook.storage import load, save
from tests.test_calendar import at, sample


class StorageTest(unittest.TestCase):
    def test_a_calendar_is_saved_and_loaded(self):
        calendar = sample()
        calendar.book("ana", "Red room", at(18), at(20))
        calendar.wait("ben", "Red room", at(18), at(19), at(10))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rooms.json")

            save(calendar, path)
            loaded = load(path)

        self.assertEqual(loaded.members, calendar.members)
        self.assertEqual(loaded.bookings, calendar.bookings)
        self.assertEqual(loaded.waiting, calendar.waiting)
