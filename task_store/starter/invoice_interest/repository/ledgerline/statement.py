"""The statement that is posted to a customer."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from ledgerline.book import Book
from ledgerline.money import format_amount


def customer_statement(book: Book, customer: str, on: date) -> str:
    """Every open invoice of a customer on a day, and the sum of what is open."""
    lines = [f"Statement for {customer} on {on.isoformat()}"]
    total = Decimal("0.00")
    for invoice in book.of_customer(customer):
        balance = invoice.balance(on)
        if balance == 0:
            continue
        mark = " (late)" if invoice.is_late(on) else ""
        lines.append(f"{invoice.number}  {format_amount(balance)}{mark}")
        total += balance
    lines.append(f"Total  {format_amount(total)}")
    return "\n".join(lines)
