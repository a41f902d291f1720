"""What a gold query says about order: its outer ORDER BY, and where that leaves things open.

The keys of the outer ORDER BY are read from the result where they are columns of it, and else by a
copy of the query that selects them too; rows with equal keys may stand in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.sql.outcome import ResultSet
from hil_mcp.sql.result_values import number_in
from hil_mcp.sql.runner import WHOLE_RESULT
from hil_mcp.sql.tokens import tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.sql.outcome import Cell
    from hil_mcp.sql.runner import SqlRunner
    from hil_mcp.sql.tokens import Token

Keys = tuple["Cell", ...]

_COMPOUND = {"UNION", "INTERSECT", "EXCEPT"}
_DIRECTIONS = {"ASC", "DESC", "NULLS", "FIRST", "LAST"}

UNKNOWN_TIES = (
    "the gold's ORDER BY sorts by something that its columns do not show, so the order was not "
    "checked"
)
TIE_AT_LIMIT = (
    "the gold's LIMIT cuts through rows with equal sort keys: other rows would be as right"
)
TEXT_AS_NUMBERS = (
    "the gold sorts numbers that are stored as text, letter by letter: '10' comes before '9'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldOrder:
    """The order of a gold result.

    Attributes:
        keys: Sort keys of each gold row; None when the gold sets no order or the keys are unknown.
        notes: What is doubtful about the gold, in words.
    """

    keys: tuple[Keys, ...] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _OuterOrder:
    """The outer ORDER BY of a query, as text."""

    terms: tuple[str, ...]
    is_descending: bool
    """Of the first term."""
    from_at: int | None
    """Where the outer FROM starts; None where nothing can be selected beside the columns."""
    limit_at: int | None
    """Where the outer LIMIT starts."""
    has_collation: bool


async def read_gold_order(query: str, gold: ResultSet, runner: SqlRunner) -> GoldOrder:
    """Find out what the gold says about order.

    Args:
        query: The gold query.
        gold: Its whole result.
        runner: Runs copies of the query, of the same database.
    """
    outer = _outer_order(query)
    if outer is None:
        return GoldOrder()
    columns = [_output_column(term, gold.columns) for term in outer.terms]
    if outer.has_collation or (None in columns and outer.from_at is None):
        return GoldOrder(notes=(UNKNOWN_TIES,))
    seen = await _keyed_rows(query, outer, columns, gold, runner)
    if seen is None:
        return GoldOrder(notes=(UNKNOWN_TIES,))
    keys, following = seen
    notes: list[str] = []
    if keys and following is not None and following == keys[-1]:
        notes.append(TIE_AT_LIMIT)
    if _are_numbers_sorted_as_text([key[0] for key in keys], descending=outer.is_descending):
        notes.append(TEXT_AS_NUMBERS)
    return GoldOrder(keys=tuple(keys), notes=tuple(notes))


async def _keyed_rows(
    query: str,
    outer: _OuterOrder,
    columns: Sequence[int | None],
    gold: ResultSet,
    runner: SqlRunner,
) -> tuple[list[Keys], Keys | None] | None:
    """The keys of the gold's rows and of the row behind its LIMIT; None when they do not show."""
    hidden = [term for term, column in zip(outer.terms, columns, strict=True) if column is None]
    if not hidden and outer.limit_at is None:
        return [_keys(row, columns, len(gold.columns)) for row in gold.rows], None
    text = query if outer.limit_at is None else query[: outer.limit_at]
    if hidden:
        selected = "".join(f", ({term})" for term in hidden)
        text = f"{text[: outer.from_at]}{selected} {text[outer.from_at :]}"
    outcome = await runner.execute(text, WHOLE_RESULT)
    width = len(gold.columns)
    if not isinstance(outcome, ResultSet):
        return None
    rows = [row[:width] for row in outcome.rows[: len(gold.rows)]]
    if rows != list(gold.rows):  # an OFFSET, or the copy is not the same query after all
        return None
    keys = [_keys(row, columns, width) for row in outcome.rows[: len(rows) + 1]]
    return keys[: len(rows)], keys[len(rows)] if len(keys) > len(rows) else None


def _keys(row: Sequence[Cell], columns: Sequence[int | None], width: int) -> Keys:
    hidden = iter(range(width, len(row)))
    return tuple(row[next(hidden) if column is None else column] for column in columns)


def _outer_order(query: str) -> _OuterOrder | None:
    tokens = [token for token in tokens_of(query) if token.depth == 0]
    order = _last(tokens, "ORDER")
    if order is None:
        return None
    select = _last(tokens, "SELECT") or 0
    tail = tokens[order + 2 :]
    limit = next((token for token in tail if token.text in ("LIMIT", ";")), None)
    end = limit.start if limit else len(query)
    terms = _terms(query, [token for token in tail if token.start < end], end)
    outer_from = next((token for token in tokens[select:order] if token.text == "FROM"), None)
    can_add = (
        outer_from is not None
        and tokens[select + 1].text != "DISTINCT"
        and not any(token.text in _COMPOUND for token in tokens)
    )
    comma = next((place for place, token in enumerate(tail) if token.text == ","), len(tail))
    return _OuterOrder(
        terms=terms,
        is_descending=any(token.text == "DESC" for token in tail[:comma]),
        from_at=outer_from.start if outer_from is not None and can_add else None,
        limit_at=limit.start if limit is not None and limit.text == "LIMIT" else None,
        has_collation=any(token.text == "COLLATE" for token in tail),
    )


def _last(tokens: Sequence[Token], word: str) -> int | None:
    places = [place for place, token in enumerate(tokens) if token.text == word]
    return places[-1] if places else None


def _terms(query: str, tokens: Sequence[Token], end: int) -> tuple[str, ...]:
    """The texts between the outer commas, without directions."""
    terms: list[str] = []
    start = tokens[0].start if tokens else end
    stop = start
    for token in tokens:
        if token.text == ",":
            terms.append(query[start:stop])
            start = token.end
        elif token.text not in _DIRECTIONS or stop <= start:  # `ORDER BY last` is a column
            stop = token.end
    terms.append(query[start:stop])
    return tuple(term.strip() for term in terms)


def _output_column(term: str, columns: Sequence[str]) -> int | None:
    """The column of the result that a term stands for, by its number or its name."""
    if term.isdecimal():
        return int(term) - 1
    name = term.strip('"`[]').lower()
    places = [place for place, column in enumerate(columns) if column.lower() == name]
    return places[0] if len(places) == 1 else None


def _are_numbers_sorted_as_text(values: Sequence[Cell], *, descending: bool) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    numbers = [number for number in map(number_in, texts) if number is not None]
    return len(numbers) == len(texts) and numbers != sorted(numbers, reverse=descending)
