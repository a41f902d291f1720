import unittest
from datetime import date

from ledgerline.statement import customer_statement
from tests.test_book import sample


class StatementTest(unittest.TestCase):
    def test_an_invoice_that_is_not_due_yet_has_no_mark(self):
        self.assertEqual(
            customer_statement(sample(), "Mill & Sons", date(2025, 3, 20)),
            "Statement for Mill & Sons on 2025-03-20\n2025-002  300.00\nTotal  300.00",
        )

    def test_a_late_invoice_is_marked(self):
        text = customer_statement(sample(), "Mill & Sons", date(2025, 4, 3))

        self.assertIn("2025-002  300.00 (late)", text)
