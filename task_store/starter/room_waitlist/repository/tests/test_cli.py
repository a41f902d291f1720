import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from roombook.cli import main
from roombook.storage import load, save
from tests.test_calendar import at, sample


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "rooms.json")
        save(sample(), self.path)

    def run_command(self, *arguments):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = main([arguments[0], str(self.path), *arguments[1:]], now=at(9))
        return status, printed.getvalue()

    def test_a_room_is_booked_and_shown(self):
        self.run_command("book", "ana", "Red room", "2025-05-12T18:00", "2025-05-12T20:00")

        status, printed = self.run_command("day", "2025-05-12")

        self.assertEqual((status, printed), (0, "1  18:00-20:00  Red room  ana\n"))

    def test_a_refused_booking_is_explained(self):
        status, printed = self.run_command(
            "book", "eve", "Red room", "2025-05-12T18:00", "2025-05-12T20:00"
        )

        self.assertEqual((status, printed), (1, "eve is not a member\n"))

    def test_a_booking_is_cancelled(self):
        self.run_command("book", "ana", "Red room", "2025-05-12T18:00", "2025-05-12T20:00")

        status, printed = self.run_command("cancel", "1")

        self.assertEqual((status, printed), (0, "cancelled: 1  18:00-20:00  Red room  ana\n"))
        self.assertEqual(load(self.path).bookings, {})
