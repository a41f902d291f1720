"""An invoice and its payments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal


@dataclass(frozen=True)
class Payment:
    """Money that came in for an invoice."""

    on: date
    amount: Decimal


@dataclass(frozen=True)
class Invoice:
    """One invoice; `reminded_on` is None as long as no reminder has been sent."""

    number: str
    customer: str
    amount: Decimal
    due: date
    reminded_on: date | None = None
    payments: tuple[Payment, ...] = ()

    def paid(self, on: date) -> Decimal:
        """What has been paid up to a day, that day included."""
        return sum((p.amount for p in self.payments if p.on <= on), Decimal("0.00"))

    def balance(self, on: date) -> Decimal:
        """What is still open on a day; never below zero."""
        return max(self.amount - self.paid(on), Decimal("0.00"))

    def is_late(self, on: date) -> bool:
        """Whether something is open after the due day."""
        return on > self.due and self.balance(on) > 0
