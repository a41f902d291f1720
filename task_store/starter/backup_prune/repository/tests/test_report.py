import unittest

from keepsake.report import human_size, list_table, usage_table
from tests.test_index import sample


class ReportTest(unittest.TestCase):
    def test_sizes_have_a_unit(self):
        self.assertEqual(human_size(512), "512 B")
        self.assertEqual(human_size(1536), "1.5 KiB")
        self.assertEqual(human_size(3 * 1024**3), "3.0 GiB")

    def test_the_list_shows_marks(self):
        lines = list_table(sample().all()).split("\n")

        self.assertEqual(lines[1], "web-a  2025-03-01 02:00  30 B  v-")

    def test_usage_ends_with_the_total(self):
        self.assertEqual(usage_table(sample()).split("\n")[-1], "total  3  60 B")

    def test_an_empty_list_is_empty(self):
        self.assertEqual(list_table([]), "")
