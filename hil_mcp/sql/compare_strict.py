"""The strict answer check: what the released one lets pass or refuses wrongly, decided right.

Every gold row is there once and nothing else is; one mapping of columns holds for all rows; a
submission has as many columns as the gold; numbers are compared by distance; NULL is not empty
text; rows stand in the gold's order where it sets one, equal sort keys in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from hil_mcp.sql.row_matching import Unmatched, match_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hil_mcp.sql.gold_order import GoldOrder
    from hil_mcp.sql.outcome import ResultSet
    from hil_mcp.sql.row_matching import Row

_MAPPINGS_LIMIT = 500
"""Most partial mappings of columns that are tried where names do not decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictVerdict:
    """What the strict check says of two results.

    Attributes:
        is_equal: The verdict.
        mapping: For each gold column the submission's column; None when their numbers differ.
        is_mapped_by_name: Both sides have the same column names, so that names decide.
        unmatched: Rows without a partner under `mapping`.
        is_order_wrong: All rows are there, but not in the gold's order.
    """

    is_equal: bool
    mapping: tuple[int, ...] | None
    is_mapped_by_name: bool = False
    unmatched: Unmatched
    is_order_wrong: bool = False


def compare_strict(gold: ResultSet, submission: ResultSet, order: GoldOrder) -> StrictVerdict:
    """Compare two whole results.

    Args:
        gold: The gold's result.
        submission: The agent's.
        order: What the gold says about order.
    """
    if len(gold.columns) != len(submission.columns):
        return StrictVerdict(
            is_equal=False,
            mapping=None,
            unmatched=Unmatched(
                gold=tuple(range(len(gold.rows))), submission=tuple(range(len(submission.rows)))
            ),
        )
    named = _mapping_by_name(gold.columns, submission.columns)
    first = _verdict(gold, submission, order, named or tuple(range(len(gold.columns))))
    if first.is_equal or named is not None or len(gold.rows) != len(submission.rows):
        return _with_names(first, is_mapped_by_name=named is not None)
    verdicts = (
        _verdict(gold, submission, order, mapping) for mapping in mappings(gold, submission)
    )
    whole = [verdict for verdict in verdicts if verdict.unmatched.is_nothing]
    return next((verdict for verdict in whole if verdict.is_equal), whole[0] if whole else first)


def remapped(rows: Sequence[Row], mapping: Sequence[int]) -> list[Row]:
    """Rows with their columns in the gold's order."""
    return [tuple(row[column] for column in mapping) for row in rows]


def _with_names(verdict: StrictVerdict, *, is_mapped_by_name: bool) -> StrictVerdict:
    return StrictVerdict(
        is_equal=verdict.is_equal,
        mapping=verdict.mapping,
        is_mapped_by_name=is_mapped_by_name,
        unmatched=verdict.unmatched,
        is_order_wrong=verdict.is_order_wrong,
    )


def _verdict(
    gold: ResultSet, submission: ResultSet, order: GoldOrder, mapping: tuple[int, ...]
) -> StrictVerdict:
    rows = remapped(submission.rows, mapping)
    unmatched = match_rows(gold.rows, rows)
    in_order = unmatched.is_nothing and _is_in_order(gold.rows, rows, order)
    return StrictVerdict(
        is_equal=in_order,
        mapping=mapping,
        unmatched=unmatched,
        is_order_wrong=unmatched.is_nothing and not in_order,
    )


def _is_in_order(gold: Sequence[Row], rows: Sequence[Row], order: GoldOrder) -> bool:
    if order.keys is None:
        return True
    start = 0
    for _, tied in groupby(order.keys):
        end = start + sum(1 for _ in tied)
        if not match_rows(gold[start:end], rows[start:end]).is_nothing:
            return False
        start = end
    return True


def _mapping_by_name(gold: Sequence[str], submission: Sequence[str]) -> tuple[int, ...] | None:
    """The submission's column of each gold name, when both sides have the same unique names."""
    places = {name.lower(): place for place, name in enumerate(submission)}
    names = [name.lower() for name in gold]
    if len(set(names)) < len(names) or set(names) != set(places):
        return None
    return tuple(places[name] for name in names)


def mappings(gold: ResultSet, submission: ResultSet) -> Iterator[tuple[int, ...]]:
    """Mappings of columns under which all rows have partners, whatever the columns' names."""
    width = len(gold.columns)
    tries = 0
    waiting: list[tuple[int, ...]] = [()]
    while waiting and tries < _MAPPINGS_LIMIT:
        mapping = waiting.pop()
        if len(mapping) == width:
            yield mapping
            continue
        longer = [(*mapping, column) for column in range(width) if column not in mapping]
        tries += len(longer)
        waiting.extend(m for m in reversed(longer) if _prefix_matches(gold, submission, m))


def _prefix_matches(gold: ResultSet, submission: ResultSet, mapping: tuple[int, ...]) -> bool:
    left = remapped(gold.rows, range(len(mapping)))
    return match_rows(left, remapped(submission.rows, mapping)).is_nothing
