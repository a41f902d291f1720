import tempfile
import unittest
from pathlib import Path

from keepsake.index import Index, UnknownSnapshotError, load_index, save_index
from keepsake.snapshot import parse_line

LINES = [
    "web-b\t2025-03-02T02:00\t20\tno\tno",
    "db-a\t2025-03-01T02:00\t10\tno\tno",
    "web-a\t2025-03-01T02:00\t30\tyes\tno",
]


def sample() -> Index:
    return Index([parse_line(line) for line in LINES])


class IndexTest(unittest.TestCase):
    def test_snapshots_are_sorted_by_time_and_name(self):
        self.assertEqual([s.name for s in sample().all()], ["db-a", "web-a", "web-b"])

    def test_snapshots_of_one_host(self):
        self.assertEqual([s.name for s in sample().of_host("web")], ["web-a", "web-b"])

    def test_a_pin_is_set_and_taken_away(self):
        index = sample()

        index.pin("db-a")
        self.assertTrue(index.all()[0].pinned)
        index.pin("db-a", pinned=False)
        self.assertFalse(index.all()[0].pinned)

    def test_an_unknown_name_cannot_be_pinned(self):
        with self.assertRaises(UnknownSnapshotError):
            sample().pin("mail-a")

    def test_an_index_is_saved_and_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "snapshots.index")
            path.write_text("# a comment\n\n" + LINES[0] + "\n", encoding="utf-8")

            index = load_index(path)
            save_index(index, path)

            self.assertEqual(path.read_text(encoding="utf-8"), LINES[0] + "\n")
