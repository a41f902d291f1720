"""The released answer check, read off its description line by line, and as slow as it says.

Shares with the fast one only how a text is read as a number.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from hil_mcp.sql.result_values import number_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.sql.outcome import Cell, ResultSet

Table = list[list["int | float | str | None"]]


def plain_verdict(gold: ResultSet, prediction: ResultSet) -> bool:
    n_gold, n_prediction = len(gold.columns), len(prediction.columns)
    gold_rows, prediction_rows = _normalised(gold), _normalised(prediction)
    for left in (gold_rows, _distinct(gold_rows)):
        for right in (prediction_rows, _distinct(prediction_rows)):
            if len(left) != len(right) or n_prediction < n_gold:
                continue
            if n_prediction == n_gold and _same_rows(left, right):
                return True
            if n_prediction > n_gold and _each_contained(left, right):
                return True
    return False


def _normalised(result: ResultSet) -> Table:
    columns = [_column([row[n] for row in result.rows]) for n in range(len(result.columns))]
    return [[column[n] for column in columns] for n in range(len(result.rows))]


def _column(cells: Sequence[Cell]) -> list[int | float | str | None]:
    present = [cell for cell in cells if cell is not None]
    has_leading_zero = any(re.match(r"0\d", str(cell)) for cell in present)
    numbers = [number_in(cell) if isinstance(cell, str) else cell for cell in present]
    if has_leading_zero or None in numbers:
        return [None if cell is None else str(cell) for cell in cells]
    found = iter(numbers)
    values = [None if cell is None else next(found) for cell in cells]
    if all(isinstance(value, int) for value in values):
        return [value for value in values if isinstance(value, int)]
    return [float(value) if isinstance(value, int | float) else None for value in values]


def _distinct(rows: Table) -> Table:
    kept: Table = []
    for row in rows:
        if row not in kept:
            kept.append(row)
    return kept


def _keys(row: Sequence[int | float | str | None]) -> Counter[float | str | None]:
    return Counter(
        round(value / 0.01) * 0.01 if isinstance(value, int | float) else value for value in row
    )


def _same_rows(left: Table, right: Table) -> bool:
    remaining = [_keys(row) for row in right]
    for row in left:
        if _keys(row) not in remaining:
            return False
        remaining.remove(_keys(row))
    return True


def _each_contained(left: Table, right: Table) -> bool:
    unused = [_keys(row) for row in right]
    for row in left:
        fitting = next((other for other in unused if _keys(row) <= other), None)
        if fitting is None:
            return False
        unused.remove(fitting)
    return True
