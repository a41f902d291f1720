import unittest
from datetime import date, timedelta
from decimal import Decimal

from ledgerline.book import Book
from ledgerline.interest import interest_on
from ledgerline.invoice import Invoice, Payment
from ledgerline.statement import customer_statement

DUE = date(2025, 1, 10)
REMINDED = date(2025, 2, 1)
# Interest runs from 7 February: on this day 100 days of it are owed.
HUNDRED_DAYS = date(2025, 5, 17)


def invoice(amount: str, *, paid: str = "0", reminded_on: date | None = REMINDED) -> Invoice:
    payments = (Payment(date(2025, 3, 1), Decimal(paid)),) if paid != "0" else ()
    return Invoice("2025-014", "Mill & Sons", Decimal(amount), DUE, reminded_on, payments)


class InterestTest(unittest.TestCase):
    def test_the_yearly_rate_is_ours(self):
        # 7.3 percent over 365 days is 0.02 percent a day.
        interest = interest_on(invoice("5000.00"), HUNDRED_DAYS)

        self.assertEqual(str(interest), "100.00")

    def test_interest_begins_as_agreed(self):
        large = invoice("50000.00")

        self.assertEqual(interest_on(large, REMINDED + timedelta(days=5)), Decimal("0.00"))
        self.assertEqual(interest_on(large, REMINDED + timedelta(days=6)), Decimal("10.00"))
        self.assertEqual(interest_on(large, REMINDED + timedelta(days=7)), Decimal("20.00"))
        self.assertEqual(
            interest_on(invoice("50000.00", reminded_on=None), HUNDRED_DAYS), Decimal("0.00")
        )

    def test_part_payments(self):
        for paid, expected in [
            ("100.00", "20.00"),
            ("300.00", "20.00"),
            ("349.99", "20.00"),
            ("350.00", "13.00"),
            ("450.00", "11.00"),
            ("600.00", "8.00"),
        ]:
            with self.subTest(paid=paid):
                interest = interest_on(invoice("1000.00", paid=paid), HUNDRED_DAYS)
                self.assertEqual(interest, Decimal(expected))

    def test_rounding(self):
        for amount, expected in [("504.99", "10.00"), ("509.99", "10.00"), ("510.00", "10.20"),
                                 ("519.80", "10.20"), ("207.45", "4.00")]:
            with self.subTest(amount=amount):
                self.assertEqual(interest_on(invoice(amount), HUNDRED_DAYS), Decimal(expected))

    def test_trifling_interest_is_left_out(self):
        for amount, expected in [("60.00", "0.00"), ("150.00", "0.00"), ("189.50", "0.00"),
                                 ("190.00", "3.80"), ("240.00", "4.80")]:
            with self.subTest(amount=amount):
                self.assertEqual(interest_on(invoice(amount), HUNDRED_DAYS), Decimal(expected))

    def test_a_paid_invoice_bears_none(self):
        paid = invoice("5000.00", paid="5000.00")

        self.assertEqual(str(interest_on(paid, HUNDRED_DAYS)), "0.00")


class StatementTest(unittest.TestCase):
    def test_the_statement_shows_the_interest(self):
        fresh = Invoice("2025-020", "Mill & Sons", Decimal("80.00"), date(2025, 6, 1))

        text = customer_statement(Book([invoice("1000.00"), fresh]), "Mill & Sons", HUNDRED_DAYS)

        self.assertEqual(
            text.split("\n")[1:],
            ["2025-014  1 000.00 (late)", "  interest  20.00", "2025-020  80.00",
             "Total  1 100.00"],
        )
