"""The commands."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from ledgerline.book import UnknownInvoiceError, load_book, save_book
from ledgerline.money import format_amount, parse_amount
from ledgerline.statement import customer_statement


def build_parser() -> argparse.ArgumentParser:
    """The parser with every command."""
    parser = argparse.ArgumentParser(prog="ledgerline")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text, extra in [
        ("open", "show the open invoices", []),
        ("statement", "write a customer's statement", ["customer"]),
        ("pay", "enter a payment", ["number", "amount"]),
    ]:
        command = commands.add_parser(name, help=text)
        command.add_argument("book", type=Path)
        for argument in extra:
            command.add_argument(argument)
        command.add_argument("--on", type=date.fromisoformat, default=None)
    return parser


def main(arguments: list[str]) -> int:
    """Run one command; returns the exit status."""
    options = build_parser().parse_args(arguments)
    book = load_book(options.book)
    on = options.on or date.today()
    if options.command == "open":
        for invoice in book.open(on):
            print(f"{invoice.number}  {invoice.customer}  {format_amount(invoice.balance(on))}")
    elif options.command == "statement":
        print(customer_statement(book, options.customer, on))
    else:
        try:
            book.pay(options.number, parse_amount(options.amount), on)
        except UnknownInvoiceError:
            print(f"no invoice has the number {options.number}")
            return 1
        save_book(book, options.book)
    return 0
