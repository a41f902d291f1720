r"""The text of an `execute_sql` reply: the released strings, within a number of bytes.

The release prints with pandas' `to_csv` (release.md, section 2). Its quirks are kept, since agents
have been measured with them: a column of numbers with a NULL or a float prints as floats, NULL is
an empty field, a row of one empty field is `""`, a blob prints as `b'\x00'`.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, assert_never

from hil_mcp.sql.outcome import NoResultSet, ResultSet, Shortened, SqlFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.sql.outcome import Cell, SqlOutcome

REPLY_LIMIT_BYTES = 32_000
"""Longest reply. 200 rows of 160 bytes fit, and each measured agent passes it to its model whole:
the tightest are Gemini's 40,000 characters and Codex' 10,000 tokens, four bytes each for it. Only
Codex with a model that it does not know cuts earlier, visibly, at 12,000 characters."""

# When the first row alone is too large, its cells are shortened further, in these steps.
_CELL_STEPS_CHARS = (400, 40)

_DONE = "Query executed successfully"


def reply_text(outcome: SqlOutcome, *, limit_bytes: int = REPLY_LIMIT_BYTES) -> str:
    """The whole reply to one query.

    Args:
        outcome: At most as many rows as may be shown.
        limit_bytes: Longest text, in bytes of UTF-8. A result is cut at the border of a row, and
            the first line says so.
    """
    match outcome:
        case SqlFailure(message=message):
            return f"Error: {message}"
        case NoResultSet(row_count=row_count):
            return f"{_DONE}. {row_count} rows affected."
        case ResultSet(rows=()):
            return f"{_DONE}. No results returned."
        case ResultSet():
            return _table_text(outcome, limit_bytes)
        case _:
            assert_never(outcome)


def csv_lines(result: ResultSet) -> list[str]:
    """Header and rows as pandas prints them, one string each, with its line ending."""
    columns = list(zip(*result.rows, strict=True))
    printed = [_printed(column) for column in columns]
    return [_line(result.columns), *(_line(row) for row in zip(*printed, strict=True))]


def _table_text(result: ResultSet, limit_bytes: int) -> str:
    room = limit_bytes - len(_too_large(result, len(result.rows), limit_bytes)) - 1
    for shown in (result, *(_shortened(result, chars) for chars in _CELL_STEPS_CHARS)):
        lines = csv_lines(shown)
        kept = _fitting(lines, room)
        if kept > 1:
            break
    else:
        return (
            f"{_DONE}. Its first row does not fit in a reply of {limit_bytes} bytes: select fewer "
            f"of its {len(result.columns)} columns."
        )
    body = "".join(lines[:kept])
    if kept < len(lines):
        return f"{_too_large(result, kept - 1, limit_bytes)}\n{body}"
    if result.has_more:
        return f"{_DONE}. Result truncated to the first {len(result.rows)} rows:\n{body}"
    return f"{_DONE}:\n{body}"


def _too_large(result: ResultSet, n_rows: int, limit_bytes: int) -> str:
    more = "more than " if result.has_more else ""
    return (
        f"{_DONE}. Result truncated to the first {n_rows} of {more}{len(result.rows)} rows, "
        f"since a reply holds {limit_bytes} bytes:"
    )


def _fitting(lines: Sequence[str], room_bytes: int) -> int:
    """How many lines fit."""
    for count, line in enumerate(lines):
        room_bytes -= len(line.encode("utf-8", "replace"))
        if room_bytes < 0:
            return count
    return len(lines)


def _shortened(result: ResultSet, chars: int) -> ResultSet:
    return ResultSet(
        columns=tuple(f"{n[:chars]}…" if len(n) > chars else n for n in result.columns),
        rows=tuple(tuple(_cut(cell, chars) for cell in row) for row in result.rows),
        has_more=result.has_more,
    )


def _cut(cell: Cell, chars: int) -> Cell:
    if isinstance(cell, Shortened):
        return Shortened(shown=cell.shown[:chars], length=cell.length)
    if isinstance(cell, str | bytes) and len(cell) > chars:
        return Shortened(shown=cell[:chars], length=len(cell))
    return cell


def _printed(column: Sequence[Cell]) -> list[str]:
    kinds = {type(cell) for cell in column}
    if kinds <= {int, float, type(None)} and kinds > {int}:
        return [_float_text(cell) for cell in column]
    return [_text(cell) for cell in column]


def _float_text(cell: Cell) -> str:
    return repr(float(cell)) if isinstance(cell, int | float) else ""


def _text(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case str():
            return cell
        case Shortened(shown=str() as shown, length=length):
            return f"{shown}… [{len(shown)} of {length} characters]"
        case Shortened(shown=shown, length=length):
            return f"{shown!r}… [{len(shown)} of {length} bytes]"
        case _:
            return repr(cell)


def _line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
