"""What one query comes to, as the parent process sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FailureKind = Literal["error", "refused", "timeout", "memory", "busy", "missing", "crash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """The first part of a text or blob that is longer than a cell may be."""

    shown: str | bytes
    length: int
    """Characters of the whole text, or bytes of the whole blob."""


Cell = int | float | str | bytes | Shortened | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSet:
    """Rows of a query, at most as many as were asked for."""

    columns: tuple[str, ...]
    """As SQLite names them; names may occur twice."""
    rows: tuple[tuple[Cell, ...], ...]
    has_more: bool = False
    """There are rows beyond these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoResultSet:
    """A statement that has no rows to give, such as BEGIN, or a text without any statement."""

    row_count: int
    """As sqlite3 reports it: -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlFailure:
    """A query that did not succeed.

    Attributes:
        message: For the agent, without `Error: `; SQLite's own words where it has some.
        kind: `error` and `refused` are the query's doing; `timeout` and `memory` too, by its cost.
            `busy`: too many others ran. `missing` is the data's, `crash` ours.
    """

    message: str
    kind: FailureKind


SqlOutcome = ResultSet | NoResultSet | SqlFailure
