import unittest
from decimal import Decimal

from ledgerline.money import BadAmountError, format_amount, parse_amount


class MoneyTest(unittest.TestCase):
    def test_amounts_are_read_with_two_places(self):
        self.assertEqual(str(parse_amount("120.5")), "120.50")

    def test_what_is_no_amount_is_refused(self):
        for text in ["", "-1", "1.001", "NaN", "ten"]:
            with self.subTest(text=text), self.assertRaises(BadAmountError):
                parse_amount(text)

    def test_thousands_are_set_apart(self):
        self.assertEqual(format_amount(Decimal("1204.50")), "1 204.50")
