"""The released golden CSV as a result, for a gold query that cannot run."""

from __future__ import annotations

import csv
import io

from hil_mcp.sql.outcome import ResultSet

CANNOT_TELL = (
    "graded against the golden CSV, which cannot tell NULL from empty text, an integer from a "
    "float, or whether order counts"
)


def read_golden_csv(text: str) -> ResultSet | None:
    """The result that a golden CSV holds, all cells text and empty ones NULL; None without header.

    Text stands for the number that it spells when it is compared with a number.
    """
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    if not rows:
        return None
    header, *body = rows
    return ResultSet(columns=tuple(header), rows=tuple(tuple(_or_null(row)) for row in body))


def as_csv_shows(result: ResultSet) -> ResultSet:
    """A result without the difference that a CSV does not keep: empty text is NULL."""
    return ResultSet(
        columns=result.columns,
        rows=tuple(tuple(None if cell == "" else cell for cell in row) for row in result.rows),
        has_more=result.has_more,
    )


def _or_null(row: list[str]) -> list[str | None]:
    return [cell or None for cell in row]
