"""The strict check: right is right, whatever the released one says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil_mcp.sql.compare_strict import compare_strict
from hil_mcp.sql.explain import explain
from hil_mcp.sql.gold_order import GoldOrder
from hil_mcp.sql.outcome import ResultSet
from hil_mcp.sql.row_matching import match_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.sql.outcome import Cell

Rows = list[tuple["Cell", ...]]
NO_ORDER = GoldOrder()


def result(rows: Sequence[tuple[Cell, ...]], names: str = "") -> ResultSet:
    columns = names.split() or [f"c{n}" for n in range(len(rows[0]))]
    return ResultSet(columns=tuple(columns), rows=tuple(rows))


def is_right(gold: Rows, submission: Rows) -> bool:
    return compare_strict(result(gold), result(submission), NO_ORDER).is_equal


def reasons(gold: ResultSet, submission: ResultSet) -> tuple[str, ...]:
    return explain(gold, submission, compare_strict(gold, submission, NO_ORDER)).reasons


@pytest.mark.parametrize(
    ("gold", "given"),
    [
        (0.104, 0.106),
        (0.33, 0.34),
        (95911.754, 95911.756),
        (1e9, 1e9 + 5e4),
        (2.0, 2.004),
        (3, 3.0),
        (30, 30.000000000000004),
        (2.004, 2),
        (5, "5"),
        ("2019", 2019),
        (float("inf"), float("inf")),
        ("Zoë", "Zoë"),
        (None, None),
        (b"\x00", b"\x00"),
        (2**60, 2**60),
    ],
)
def test_a_cell_is_right(gold: Cell, given: Cell) -> None:
    assert is_right([(gold,)], [(given,)])


@pytest.mark.parametrize(
    ("gold", "given"),
    [
        (0.33, 0.3401),
        (1e9, 1e9 + 2e5),
        (1, 1.004),
        (1571, 1572),
        (2**53, 2**53 + 1),
        (1, "01"),
        (5, " 5"),
        ("1", "1.0"),
        ("Yes", "yes"),
        ("a", "a "),
        (None, ""),
        (None, 0),
        (None, "nan"),
        (float("inf"), 1e300),
        (float("inf"), float("-inf")),
        (b"a", "a"),
        (0, "-"),
    ],
)
def test_a_cell_is_wrong(gold: Cell, given: Cell) -> None:
    assert not is_right([(gold,)], [(given,)])


@pytest.mark.parametrize(
    ("gold", "submission", "right"),
    [
        ([(1,), (2,)], [(2,), (1,)], True),
        ([(1, "x"), (2, "y")], [("x", 1), ("y", 2)], True),
        ([(1, 2), (3, 4)], [(2, 1), (3, 4)], False),
        ([("A", 1), ("B", 2)], [("A", 2), ("B", 1)], False),
        ([(1,), (2,)], [(1,), (1,), (2,)], False),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], False),
        ([("Yes",)], [("Yes", "No")], False),
        ([(7,)], [tuple(range(100))], False),
        ([(1, 1, 2), (3, 3, 4)], [(2, 1, 1), (4, 3, 3)], True),
    ],
)
def test_rows_are_right_with_one_mapping_of_columns(
    gold: Rows, submission: Rows, right: bool
) -> None:
    given = result(submission, " ".join(f"g{n}" for n in range(len(submission[0]))))

    assert compare_strict(result(gold), given, NO_ORDER).is_equal is right


def test_equal_names_decide_which_column_is_which() -> None:
    gold = result([(1, 2), (3, 4)], "low high")

    assert compare_strict(gold, result([(2, 1), (4, 3)], "HIGH low"), NO_ORDER).is_equal
    swapped = result([(2, 1), (4, 3)], "low high")
    assert not compare_strict(gold, swapped, NO_ORDER).is_equal
    assert "the values are right and stand under each other's column names" in reasons(
        gold, swapped
    )


def test_tied_rows_may_stand_in_any_order_and_others_may_not() -> None:
    gold = result([("a", 1), ("b", 2), ("c", 2), ("d", 3)])
    order = GoldOrder(keys=((1,), (2,), (2,), (3,)))
    tied_swapped = result([("a", 1), ("c", 2), ("b", 2), ("d", 3)])
    others_swapped = result([("b", 2), ("a", 1), ("c", 2), ("d", 3)])

    assert compare_strict(gold, tied_swapped, order).is_equal
    verdict = compare_strict(gold, others_swapped, order)
    assert verdict.is_order_wrong
    assert explain(gold, others_swapped, verdict).reasons == (
        "the rows are right and stand in another order than the gold's ORDER BY sets",
    )


def test_rows_are_paired_even_where_tolerances_overlap() -> None:
    """0.00 fits 0.01 only, which fits 0.02 too: pairing the equal ones first would fail."""
    assert is_right([(0.0, 5.0), (0.01, 5.0)], [(0.01, 5.0), (0.02, 5.0)])
    assert is_right([(0.300001, 1.0), (0.3, 9.0)], [(0.3, 1.0), (0.300001, 9.0)])
    assert not is_right([(0.0,), (0.0,)], [(0.01,), (0.02,)])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.008, 0.016, 0.024]), st.sampled_from([1.0, 1.008]))),
    st.lists(st.tuples(st.sampled_from([0.0, 0.008, 0.016, 0.024]), st.sampled_from([1.0, 1.008]))),
)
def test_as_many_rows_are_paired_as_can_be(gold: Rows, given: Rows) -> None:
    gold, given = gold[:5], given[:5]

    unmatched = match_rows(gold, given)

    assert len(gold) - len(unmatched.gold) == _most_pairs(gold, given)
    assert len(given) - len(unmatched.submission) == _most_pairs(gold, given)


def test_a_large_group_of_rows_is_paired_in_sorted_order() -> None:
    rows: Rows = [(1.0, float(n)) for n in range(1_100)]
    changed: Rows = [*rows[:-1], (1.0, 5_000.0)]

    unmatched = match_rows(rows, changed[::-1])

    assert (unmatched.gold, unmatched.submission) == ((1_099,), (0,))


@pytest.mark.parametrize(
    ("gold", "submission", "reason"),
    [
        ([(1,)], [(1, 2)], "the gold has 1 column, the submission 2"),
        ([(1,), (2,)], [(1,)], "the gold has 2 rows, the submission 1"),
        ([(1,)], [(1,), (1,)], "without duplicate rows both would be equal"),
        ([(None,)], [("",)], "only NULL and empty text differ"),
        ([("Yes",)], [(" yes",)], "only upper and lower case or outer blanks of text differ"),
        ([(1.2,)], [(1.4,)], "only fractions of numbers differ"),
        ([(1,), (2,)], [(1,), (3,)], "1 of 2 gold rows missing, 1 row not in the gold"),
    ],
)
def test_a_mismatch_is_explained_in_words(gold: Rows, submission: Rows, reason: str) -> None:
    assert reason in reasons(result(gold), result(submission))


def test_a_difference_shows_a_few_short_rows_of_each_side() -> None:
    gold = result([(n, "x" * 500, None, b"\x01", float("inf")) for n in range(20)])
    given = result([(n + 100, "y", None, b"\x01", 1.5) for n in range(20)])

    difference = explain(gold, given, compare_strict(gold, given, NO_ORDER))

    assert len(difference.missing) == len(difference.unexpected) == 5
    assert difference.missing[0] == (0, "x" * 80 + "…", None, "b'\\x01'", "inf")
    assert difference.unexpected[0] == (100, "y", None, "b'\\x01'", 1.5)


def _most_pairs(gold: Rows, given: Rows) -> int:
    """By trying everything."""
    if not gold:
        return 0
    first, rest = gold[0], gold[1:]
    best = _most_pairs(rest, given)
    for place, other in enumerate(given):
        if all(abs(a - b) <= 0.01 for a, b in zip(first, other, strict=True)):  # type: ignore[operator]
            best = max(best, 1 + _most_pairs(rest, given[:place] + given[place + 1 :]))
    return best
