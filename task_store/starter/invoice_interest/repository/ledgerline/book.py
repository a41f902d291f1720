"""The book: all invoices, kept in one JSON file."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

from ledgerline.invoice import Invoice, Payment
from ledgerline.money import parse_amount


class UnknownInvoiceError(KeyError):
    """No invoice has this number."""


class Book:
    """All invoices by number."""

    def __init__(self, invoices: list[Invoice]) -> None:
        self._by_number = {invoice.number: invoice for invoice in invoices}

    def invoices(self) -> list[Invoice]:
        """Every invoice in order of its number."""
        return sorted(self._by_number.values(), key=lambda invoice: invoice.number)

    def of_customer(self, customer: str) -> list[Invoice]:
        """The invoices of one customer in order of their numbers."""
        return [invoice for invoice in self.invoices() if invoice.customer == customer]

    def open(self, on: date) -> list[Invoice]:
        """The invoices with an open balance on a day."""
        return [invoice for invoice in self.invoices() if invoice.balance(on) > 0]

    def pay(self, number: str, amount: Decimal, on: date) -> None:
        """Enter a payment."""
        if number not in self._by_number:
            raise UnknownInvoiceError(number)
        invoice = self._by_number[number]
        payments = (*invoice.payments, Payment(on, amount))
        self._by_number[number] = replace(invoice, payments=payments)


def load_book(path: Path) -> Book:
    """Read a book."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return Book([_read(entry) for entry in entries])


def save_book(book: Book, path: Path) -> None:
    """Write a book in one step."""
    text = json.dumps([_written(invoice) for invoice in book.invoices()], indent=1)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text + "\n", encoding="utf-8")
    os.replace(temporary, path)


def _read(entry: dict) -> Invoice:
    reminded_on = entry.get("reminded_on")
    return Invoice(
        number=entry["number"],
        customer=entry["customer"],
        amount=parse_amount(entry["amount"]),
        due=date.fromisoformat(entry["due"]),
        reminded_on=date.fromisoformat(reminded_on) if reminded_on else None,
        payments=tuple(
            Payment(date.fromisoformat(p["on"]), parse_amount(p["amount"]))
            for p in entry.get("payments", [])
        ),
    )


def _written(invoice: Invoice) -> dict:
    return {
        "number": invoice.number,
        "customer": invoice.customer,
        "amount": str(invoice.amount),
        "due": invoice.due.isoformat(),
        "reminded_on": invoice.reminded_on.isoformat() if invoice.reminded_on else None,
        "payments": [{"on": p.on.isoformat(), "amount": str(p.amount)} for p in invoice.payments],
    }
