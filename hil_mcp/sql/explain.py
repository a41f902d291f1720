"""Says in words why a submission is not the gold, and shows a few of the rows that differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.sql.compare_strict import mappings, remapped
from hil_mcp.sql.row_matching import match_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hil_mcp.sql.compare_strict import StrictVerdict
    from hil_mcp.sql.outcome import Cell, ResultSet
    from hil_mcp.sql.row_matching import Row

SHOWN_ROWS = 5
"""Rows of each side in a diff."""
_SHOWN_CHARS = 80

JsonCell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Why two results differ.

    Attributes:
        reasons: In words, the most telling first; empty when they are equal.
        missing: The first gold rows without a partner.
        unexpected: The first submitted rows without one, columns as submitted.
    """

    reasons: tuple[str, ...]
    missing: tuple[tuple[JsonCell, ...], ...] = ()
    unexpected: tuple[tuple[JsonCell, ...], ...] = ()


def explain(gold: ResultSet, submission: ResultSet, verdict: StrictVerdict) -> Difference:
    """Explain the strict verdict."""
    if verdict.is_equal:
        return Difference(reasons=())
    missing = [gold.rows[index] for index in verdict.unmatched.gold]
    unexpected = [submission.rows[index] for index in verdict.unmatched.submission]
    return Difference(
        reasons=tuple(_reasons(gold, submission, verdict)),
        missing=tuple(_shown(row) for row in missing[:SHOWN_ROWS]),
        unexpected=tuple(_shown(row) for row in unexpected[:SHOWN_ROWS]),
    )


def _reasons(gold: ResultSet, submission: ResultSet, verdict: StrictVerdict) -> list[str]:
    if verdict.mapping is None:
        return [
            f"the gold has {_count(len(gold.columns), 'column')}, "
            f"the submission {len(submission.columns)}"
        ]
    if verdict.is_order_wrong:
        return ["the rows are right and stand in another order than the gold's ORDER BY sets"]
    reasons: list[str] = []
    if len(gold.rows) != len(submission.rows):
        reasons.append(
            f"the gold has {_count(len(gold.rows), 'row')}, the submission {len(submission.rows)}"
        )
    reasons.extend(
        words
        for words, change in _LENIENCIES
        if _equal_after(change, gold, submission, verdict.mapping)
    )
    if verdict.is_mapped_by_name and any(True for _ in mappings(gold, submission)):
        reasons.append("the values are right and stand under each other's column names")
    n_missing, n_unexpected = len(verdict.unmatched.gold), len(verdict.unmatched.submission)
    reasons.append(
        f"{n_missing} of {len(gold.rows)} gold rows missing, "
        f"{_count(n_unexpected, 'row')} not in the gold"
    )
    return reasons


def _without_duplicates(rows: Sequence[Row]) -> list[Row]:
    return list(dict.fromkeys(rows))


def _null_for_empty(rows: Sequence[Row]) -> list[Row]:
    return [tuple(None if cell == "" else cell for cell in row) for row in rows]


def _folded(rows: Sequence[Row]) -> list[Row]:
    return [
        tuple(cell.strip().casefold() if isinstance(cell, str) else cell for cell in row)
        for row in rows
    ]


def _whole_numbers(rows: Sequence[Row]) -> list[Row]:
    return [
        tuple(round(c) if isinstance(c, float) and math.isfinite(c) else c for c in row)
        for row in rows
    ]


_LENIENCIES: tuple[tuple[str, Callable[[Sequence[Row]], list[Row]]], ...] = (
    ("without duplicate rows both would be equal", _without_duplicates),
    ("only NULL and empty text differ", _null_for_empty),
    ("only upper and lower case or outer blanks of text differ", _folded),
    ("only fractions of numbers differ", _whole_numbers),
)


def _equal_after(
    change: Callable[[Sequence[Row]], list[Row]],
    gold: ResultSet,
    submission: ResultSet,
    mapping: Sequence[int],
) -> bool:
    return match_rows(change(gold.rows), change(remapped(submission.rows, mapping))).is_nothing


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _shown(row: Row) -> tuple[JsonCell, ...]:
    return tuple(_shown_cell(cell) for cell in row)


def _shown_cell(cell: Cell) -> JsonCell:
    if cell is None or isinstance(cell, int) or (isinstance(cell, float) and math.isfinite(cell)):
        return cell
    text = cell if isinstance(cell, str) else repr(cell)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
