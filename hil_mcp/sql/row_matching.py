"""Pairs the rows of two results one to one, numbers within a tolerance.

Tolerance is a distance and not a bucket, so "equal" does not carry over from pair to pair: the
rows are paired by a search for the most pairs, not by sorting alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.sql.result_values import number_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hil_mcp.sql.outcome import Cell

Row = tuple["Cell", ...]

ABSOLUTE_TOLERANCE = 0.01
RELATIVE_TOLERANCE = 1e-4
_INTEGER_NOISE = 1e-9
"""What arithmetic in floats may add to an integer: 100.0 * 3 / 10 is 30.000000000000004."""
_SEARCH_LIMIT = 1_000_000
"""Most comparisons in one group of rows that differ in their numbers only; beyond it only rows that
meet in sorted order are paired."""


def cells_match(gold: Cell, given: Cell) -> bool:
    """Whether a submitted cell is right.

    Text and blobs must be equal, NULL is NULL only, an integer of the gold is exact, other numbers
    may differ by 0.01 or by 1e-4 of the gold's. A text stands for the number that it spells when
    the other side is a number.
    """
    left, right = _as_number(gold, given), _as_number(given, gold)
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return type(left) is type(right) and left == right
    if left == right:
        return True
    if math.isinf(left) or math.isinf(right):
        return False
    if isinstance(left, int):
        return isinstance(right, float) and math.isclose(left, right, rel_tol=_INTEGER_NOISE)
    distance = abs(left - right) * (1 - _INTEGER_NOISE)
    return distance <= max(ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE * abs(left))


def rows_match(gold: Row, given: Row) -> bool:
    """Whether a submitted row is right, cell by cell."""
    return all(map(cells_match, gold, given))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """Indices of the rows that found no partner."""

    gold: tuple[int, ...]
    submission: tuple[int, ...]

    @property
    def is_nothing(self) -> bool:
        """Whether every row has its partner."""
        return not self.gold and not self.submission


def match_rows(gold: Sequence[Row], submission: Sequence[Row]) -> Unmatched:
    """Pair the rows of both sides, whatever their order."""
    groups: dict[tuple[object, ...], tuple[list[int], list[int]]] = {}
    for side, rows in enumerate((gold, submission)):
        for index, row in enumerate(rows):
            key = tuple(_shape(cell) for cell in row)
            groups.setdefault(key, ([], []))[side].append(index)
    lonely_gold: list[int] = []
    lonely_given: list[int] = []
    for gold_indices, given_indices in groups.values():
        pairs = _Pairing(gold, submission, gold_indices, given_indices).pairs
        lonely_gold.extend(i for i in gold_indices if i not in pairs)
        lonely_given.extend(set(given_indices) - set(pairs.values()))
    return Unmatched(gold=tuple(sorted(lonely_gold)), submission=tuple(sorted(lonely_given)))


class _Pairing:
    """The most pairs among rows that are equal but for their numbers."""

    def __init__(
        self,
        gold: Sequence[Row],
        submission: Sequence[Row],
        gold_indices: Sequence[int],
        given_indices: Sequence[int],
    ) -> None:
        self._gold, self._submission = gold, submission
        self._left = sorted(gold_indices, key=lambda i: _numbers(gold[i]))
        self._right = sorted(given_indices, key=lambda j: _numbers(submission[j]))
        self._right_firsts = [_numbers(submission[j])[:1] for j in self._right]
        self.pairs = {
            i: j for i, j in zip(self._left, self._right, strict=False) if self._match(i, j)
        }
        self._taken_by = {j: i for i, j in self.pairs.items()}
        if len(self.pairs) < min(len(self._left), len(self._right)):
            self._search()

    def _match(self, i: int, j: int) -> bool:
        return rows_match(self._gold[i], self._submission[j])

    def _search(self) -> None:
        windows = {i: self._window(i) for i in self._left}
        if sum(len(window) for window in windows.values()) > _SEARCH_LIMIT:
            return
        partners = {i: [j for j in w if self._match(i, j)] for i, w in windows.items()}
        for start in self._left:
            if start not in self.pairs:
                self._augment(start, partners)

    def _window(self, i: int) -> Sequence[int]:
        """The rows whose first number could match: `right` is sorted by it."""
        first = _numbers(self._gold[i])[0]  # rows without a number meet in sorted order
        reach = 2 * max(ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE * abs(first))
        low = bisect_left(self._right_firsts, (first - reach,))
        high = bisect_right(self._right_firsts, (first + reach,))
        return self._right[low:high]

    def _augment(self, start: int, partners: Mapping[int, Sequence[int]]) -> None:
        """Find a partner for `start`, moving others to another partner of theirs if need be."""
        reached_from: dict[int, int] = {}
        waiting = deque([start])
        while waiting:
            i = waiting.popleft()
            for j in partners[i]:
                if j in reached_from:
                    continue
                reached_from[j] = i
                if j not in self._taken_by:
                    self._settle(j, reached_from)
                    return
                waiting.append(self._taken_by[j])

    def _settle(self, free: int, reached_from: Mapping[int, int]) -> None:
        j: int | None = free
        while j is not None:
            i = reached_from[j]
            freed = self.pairs.get(i)  # None for the row that had no partner yet
            self.pairs[i], self._taken_by[j] = j, i
            j = freed


def _as_number(cell: Cell, other: Cell) -> Cell:
    """`cell`, or the number that it spells when `other` is one."""
    if isinstance(cell, str) and isinstance(other, int | float):
        number = _spelled(cell)
        return cell if number is None else number
    return cell


def _spelled(text: str) -> int | float | None:
    if text[:1].isspace() or text[-1:].isspace() or (text[:1] == "0" and text[1:2].isdigit()):
        return None
    return number_in(text)


def _number(cell: Cell) -> int | float | None:
    if isinstance(cell, str):
        return _spelled(cell)
    return cell if isinstance(cell, int | float) else None


def _shape(cell: Cell) -> object:
    number = _number(cell)
    return (type(cell), cell) if number is None else None


def _numbers(row: Row) -> tuple[float, ...]:
    return tuple(float(n) for n in map(_number, row) if n is not None)
