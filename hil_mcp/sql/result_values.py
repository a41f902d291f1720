"""How the released check reads the cells of a result: numbers, text or nothing, column by column.

A description of what it does, quirks included (release.md, section 5), not of what would be right.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from hil_mcp.sql.outcome import Shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.sql.outcome import Cell, ResultSet

Value = int | float | str | None

BUCKET = 0.01
"""The released check compares multiples of this, not distances."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
# Blanks after the exponent's letter are let through by pandas; checked with 3.0.1.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE]\s*[+-]?[0-9]+)?")
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_BLANKS = " \t\n\r\v\f"
_LARGEST_INTEGER = 2**64


def column_values(column: Sequence[Cell]) -> list[Value]:
    """One column as the released check sees it.

    All numbers when every cell that is not NULL reads as one and none is written as a zero before
    a digit; else all text. A column of numbers with a NULL or a fraction holds floats only.
    """
    cells = [_plain(cell) for cell in column]
    kinds = {type(cell) for cell in cells} - {type(None)}
    if str not in kinds:
        numbers: list[Value] | None = list(cells)
    elif any(isinstance(c, str) and c[:1] == "0" and c[1:2].isdecimal() for c in cells):
        numbers = None
    else:
        numbers = _numbers(cells)
    if numbers is None:
        return [None if cell is None else str(cell) for cell in cells]
    if all(isinstance(number, int) for number in numbers):
        return numbers
    return [None if number is None else float(number) for number in numbers]


def row_values(result: ResultSet) -> list[tuple[Value, ...]]:
    """All rows as the released check sees them."""
    columns = [column_values(column) for column in zip(*result.rows, strict=True)]
    return list(zip(*columns, strict=True))


def bucket(value: Value) -> Value:
    """What stands for a value when the released check compares it."""
    if value is None or isinstance(value, str) or is_beyond_buckets(value):
        return value
    return round(value / BUCKET) * BUCKET


def is_beyond_buckets(value: Value) -> bool:
    """Whether a value is an infinity, or so large that it has no bucket."""
    return isinstance(value, float) and math.isinf(value / BUCKET)


def number_in(text: str) -> int | float | None:
    """The number that pandas reads in a text; None when it reads none."""
    stripped = text.strip(_BLANKS)
    if _INTEGER.fullmatch(stripped) and len(stripped) < 25:
        integer = int(stripped)
        return integer if abs(integer) < _LARGEST_INTEGER else float(integer)
    if _NUMBER.fullmatch(stripped) or _INFINITY.fullmatch(stripped):
        return float("".join(stripped.split()))
    return None


def _numbers(cells: Sequence[Value]) -> list[Value] | None:
    numbers: list[Value] = []
    for cell in cells:
        number = number_in(cell) if isinstance(cell, str) else cell
        if number is None and cell is not None:
            return None
        numbers.append(number)
    return numbers


def _plain(cell: Cell) -> Value:
    if isinstance(cell, Shortened):
        raise TypeError("a shortened cell cannot be compared")
    # As pandas turns bytes into text; what is no UTF-8 is kept apart instead of failing.
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell
