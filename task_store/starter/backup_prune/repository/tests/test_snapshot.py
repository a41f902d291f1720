import unittest
from datetime import date, datetime, timezone

from keepsake.snapshot import BadLineError, Snapshot, format_line, parse_line

LINE = "web-20250301-0200\t2025-03-01T02:00\t2048\tyes\tno"


class SnapshotTest(unittest.TestCase):
    def test_a_line_is_read(self):
        snapshot = parse_line(LINE)

        self.assertEqual(snapshot.made_at, datetime(2025, 3, 1, 2, 0, tzinfo=timezone.utc))
        self.assertEqual(snapshot.size, 2048)
        self.assertTrue(snapshot.verified)
        self.assertFalse(snapshot.pinned)

    def test_host_and_day_come_from_the_fields(self):
        snapshot = parse_line(LINE)

        self.assertEqual(snapshot.host, "web")
        self.assertEqual(snapshot.day, date(2025, 3, 1))

    def test_a_line_is_written_as_it_was_read(self):
        self.assertEqual(format_line(parse_line(LINE)), LINE)

    def test_bad_lines_are_refused(self):
        for line in ["web\t2025", LINE.replace("2048", "-1"), LINE.replace("yes", "true"),
                     LINE.replace("T02:00", "")]:
            with self.subTest(line=line), self.assertRaises(BadLineError):
                parse_line(line)

    def test_flags_are_off_unless_said(self):
        snapshot = Snapshot("db-1", datetime(2025, 3, 1, tzinfo=timezone.utc), 1)

        self.assertFalse(snapshot.verified or snapshot.pinned)
