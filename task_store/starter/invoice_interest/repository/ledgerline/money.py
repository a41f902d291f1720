"""Amounts of money as decimals with two places."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

CENT = Decimal("0.01")


class BadAmountError(ValueError):
    """A text is not an amount of money."""


def parse_amount(text: str) -> Decimal:
    """Read an amount such as `120`, `120.5` or `120.50`; never negative.

    Raises BadAmountError for anything else, fractions of a cent included.
    """
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise BadAmountError(f"{text!r} is not an amount") from None
    if not amount.is_finite() or amount < 0:
        raise BadAmountError(f"{text!r} is not an amount")
    if amount != amount.quantize(CENT):
        raise BadAmountError(f"{text!r} has fractions of a cent")
    return amount.quantize(CENT)


def format_amount(amount: Decimal) -> str:
    """Write an amount with two places and spaces between the thousands."""
    return f"{amount:,.2f}".replace(",", " ")
