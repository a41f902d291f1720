import tempfile
import unittest
from datetime import date
from decimal import Decimal
from pathlib import Path

from ledgerline.book import Book, UnknownInvoiceError, load_book, save_book
from ledgerline.invoice import Invoice, Payment


def sample() -> Book:
    return Book(
        [
            Invoice("2025-002", "Mill & Sons", Decimal("300.00"), date(2025, 4, 1)),
            Invoice(
                "2025-001",
                "Mill & Sons",
                Decimal("100.00"),
                date(2025, 3, 1),
                reminded_on=date(2025, 3, 8),
                payments=(Payment(date(2025, 3, 12), Decimal("100.00")),),
            ),
        ]
    )


class BookTest(unittest.TestCase):
    def test_the_balance_is_that_of_the_day(self):
        first = sample().invoices()[0]

        self.assertEqual(first.balance(date(2025, 3, 11)), Decimal("100.00"))
        self.assertEqual(first.balance(date(2025, 3, 12)), Decimal("0.00"))

    def test_an_invoice_is_late_after_its_due_day(self):
        second = sample().invoices()[1]

        self.assertFalse(second.is_late(date(2025, 4, 1)))
        self.assertTrue(second.is_late(date(2025, 4, 2)))

    def test_open_invoices(self):
        self.assertEqual([i.number for i in sample().open(date(2025, 5, 1))], ["2025-002"])

    def test_a_payment_is_entered(self):
        book = sample()

        book.pay("2025-002", Decimal("50.00"), date(2025, 4, 9))

        self.assertEqual(book.invoices()[1].balance(date(2025, 4, 9)), Decimal("250.00"))
        with self.assertRaises(UnknownInvoiceError):
            book.pay("2025-009", Decimal("1.00"), date(2025, 4, 9))

    def test_a_book_is_saved_and_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "book.json")

            save_book(sample(), path)

            self.assertEqual(load_book(path).invoices(), sample().invoices())
