"""The released answer check, in time that grows with the rows and not with their square.

It is what published figures were made with, so its verdicts are kept, also where they look wrong:
column names and the order of rows and columns do not count, numbers are compared in buckets of
0.01, duplicates may be dropped on either side, and columns beyond the gold's are searched greedily
(docs/release.md, section 5). Where the release ends in an error on correct answers, with infinities
and with two columns of one name, the verdict here is the right one, and says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.sql.result_values import bucket, is_beyond_buckets, row_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hil_mcp.sql.outcome import ResultSet
    from hil_mcp.sql.result_values import Value

_FEW = 64
"""Up to so many rows are looked through one by one; more go through bit sets."""

Row = tuple[int, ...]  # the ids of a row's values, sorted


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatVerdict:
    """What the released check says of two results.

    Attributes:
        is_equal: Its verdict.
        departures: Where the release would have ended in an error instead, in words.
    """

    is_equal: bool
    departures: tuple[str, ...] = ()


def compare_compat(gold: ResultSet, submission: ResultSet) -> CompatVerdict:
    """Compare two whole results as the release does."""
    sides = (row_values(gold), row_values(submission))
    ids: dict[Value, int] = {}
    gold_pair, submission_pair = (_raw_and_distinct(rows, ids) for rows in sides)
    has_extra_columns = len(submission.columns) > len(gold.columns)
    is_equal = len(submission.columns) >= len(gold.columns) and any(
        len(a) == len(b)
        and (_contains_each(b, a) if has_extra_columns else Counter(a) == Counter(b))
        for a in gold_pair
        for b in submission_pair
    )
    return CompatVerdict(is_equal=is_equal, departures=_departures(gold, submission, sides))


def _raw_and_distinct(
    rows: Sequence[tuple[Value, ...]], ids: dict[Value, int]
) -> tuple[list[Row], list[Row]]:
    """The rows as ids, all of them, and without exact duplicates."""

    def encoded(row: tuple[Value, ...]) -> Row:
        return tuple(sorted([ids.setdefault(bucket(value), len(ids)) for value in row]))

    by_row = {row: encoded(row) for row in rows}
    return [by_row[row] for row in rows], list(by_row.values())


def _contains_each(wide: Sequence[Row], narrow: Sequence[Row]) -> bool:
    """Whether each narrow row, in order, finds the first unused wide row that contains it.

    Greedy without going back, as released: the result may depend on the order of rows.
    """
    search = _WideRows(wide)
    return all(search.take_first_with(row) for row in narrow)


class _WideRows:
    """Finds the first unused row that contains a multiset of values."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._places: dict[tuple[int, int], list[int]] = {}
        # (value, n) leads to the rows that hold the value at least n times, in order.
        for place, row in enumerate(rows):
            for item in _numbered(row):
                self._places.setdefault(item, []).append(place)
        self._items = [frozenset(_numbered(row)) for row in rows]
        self._bits: dict[tuple[int, int], int] = {}
        self._unused_bits = (1 << len(rows)) - 1

    def take_first_with(self, row: Row) -> bool:
        """Use up the first row that contains `row`; False when there is none."""
        wanted = frozenset(_numbered(row))
        lists = [self._places.get(item, []) for item in wanted]
        shortest = min(lists, key=len)
        if len(shortest) <= _FEW:
            fitting = (p for p in shortest if self._is_unused(p) and wanted <= self._items[p])
            place = next(fitting, None)
        else:
            place = self._first_by_bits(wanted)
        if place is None:
            return False
        self._unused_bits &= ~(1 << place)
        return True

    def _is_unused(self, place: int) -> bool:
        return bool(self._unused_bits >> place & 1)

    def _first_by_bits(self, wanted: frozenset[tuple[int, int]]) -> int | None:
        found = self._unused_bits
        for item in wanted:
            found &= self._bits_of(item)
        return (found & -found).bit_length() - 1 if found else None

    def _bits_of(self, item: tuple[int, int]) -> int:
        # Only of frequent values: there can be few of them, so the sets stay small together.
        if item not in self._bits:
            flags = bytearray((len(self._items) + 7) // 8)
            for place in self._places[item]:
                flags[place >> 3] |= 1 << (place & 7)
            self._bits[item] = int.from_bytes(flags, "little")
        return self._bits[item]


def _numbered(row: Row) -> Iterator[tuple[int, int]]:
    """Each value with a running number, so that a multiset becomes a set; `row` is sorted."""
    last, count = None, 0
    for value in row:
        count = count + 1 if value == last else 1
        last = value
        yield value, count


def _departures(
    gold: ResultSet, submission: ResultSet, sides: Sequence[Sequence[tuple[Value, ...]]]
) -> tuple[str, ...]:
    departures: list[str] = []
    if any(len(set(result.columns)) < len(result.columns) for result in (gold, submission)):
        departures.append("the released check ends in an error on two columns of one name")
    if any(is_beyond_buckets(value) for rows in sides for row in rows for value in row):
        departures.append("the released check ends in an error on an infinity")
    return tuple(departures)
