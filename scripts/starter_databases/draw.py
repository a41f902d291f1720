"""Seeded choices that come out alike on every supported Python."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Draw:
    """Draws from `Random.random()` alone: its sequence is the only one that Python promises."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self._random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True with this probability, in [0, 1]."""
        return self._random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        """One of `choices`, all alike likely."""
        return choices[int(self._random() * len(choices))]

    def weighted(self, choices: Sequence[tuple[T, int]]) -> T:
        """One of the first members, as likely as the weight beside it."""
        left = self._random() * sum(weight for _, weight in choices)
        for choice, weight in choices:
            left -= weight
            if left < 0:
                return choice
        return choices[-1][0]

    def day(self, first: date, last: date) -> date:
        """A day from `first` to `last`, both included."""
        return first + timedelta(days=self.integer(0, (last - first).days))

    def moment(self, day: date, first_minute: int, last_minute: int) -> datetime:
        """A full minute on `day`, given in minutes after midnight, both ends included."""
        midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - local clock times
        return midnight + timedelta(minutes=self.integer(first_minute, last_minute))
