"""The released check: its verdicts, kept, and the few that it could not give."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil_mcp.sql.compare_compat import compare_compat
from hil_mcp.sql.outcome import ResultSet
from tests.support.plain_compat import plain_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hil_mcp.sql.outcome import Cell

Rows = list[tuple["Cell", ...]]

# Few values, so that rows meet: numbers around a bucket's edge, texts that are numbers, and not.
_CELLS: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        0,
        1,
        2,
        -4,
        0.004,
        0.005,
        0.015,
        0.02,
        1.0,
        1.004,
        "1",
        "01",
        "1.0",
        " 1 ",
        "a",
        "",
        "nan",
    ]
)


def result(rows: Sequence[tuple[Cell, ...]], *, n_columns: int | None = None) -> ResultSet:
    width = len(rows[0]) if n_columns is None else n_columns
    return ResultSet(columns=tuple(f"c{n}" for n in range(width)), rows=tuple(rows))


def passes(gold: Rows, prediction: Rows) -> bool:
    return compare_compat(result(gold), result(prediction)).is_equal


def test_all_published_verdicts_are_equal(shared_dir: Path) -> None:
    lines = (shared_dir / "sql-verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    different: list[int] = []

    for number, line in enumerate(lines, start=1):
        pair = json.loads(line)
        gold, prediction = (
            ResultSet(
                columns=tuple(pair[side]["columns"]), rows=tuple(map(tuple, pair[side]["rows"]))
            )
            for side in ("gold", "prediction")
        )
        if compare_compat(gold, prediction).is_equal != pair["compat"]:
            different.append(number)

    assert len(lines) == 800
    assert different == []


@st.composite
def _pairs(draw: st.DrawFn) -> tuple[ResultSet, ResultSet]:
    n_columns = draw(st.integers(1, 3))
    gold = draw(st.lists(st.tuples(*[_CELLS] * n_columns), max_size=6))
    n_extra = draw(st.integers(-1, 2))
    width = max(1, n_columns + n_extra)
    if draw(st.booleans()):
        # Mostly the gold's own rows, turned about, so that both verdicts occur.
        prediction = [
            tuple(draw(st.permutations([*row, *draw(st.tuples(*[_CELLS] * (width - n_columns)))])))
            if width >= n_columns
            else row[:width]
            for row in draw(st.permutations(gold))
        ]
        prediction += prediction[: draw(st.integers(0, 2))]
    else:
        prediction = draw(st.lists(st.tuples(*[_CELLS] * width), max_size=6))
    return result(gold, n_columns=n_columns), result(prediction, n_columns=width)


@settings(max_examples=400, deadline=None)
@given(_pairs())
def test_it_never_differs_from_a_plain_reading_of_the_description(
    pair: tuple[ResultSet, ResultSet],
) -> None:
    gold, prediction = pair

    assert compare_compat(gold, prediction).is_equal == plain_verdict(gold, prediction)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=90, max_size=140), st.randoms())
def test_frequent_values_and_rare_ones_are_found_alike(
    wide: list[tuple[int, ...]], random: Any
) -> None:
    """More than 64 rows share each value here, which takes the other way through the search."""
    narrow = [tuple(random.sample(row, 3)) for row in wide]
    random.shuffle(narrow)
    gold, prediction = result(narrow), result(wide)

    assert compare_compat(gold, prediction).is_equal == plain_verdict(gold, prediction)


@pytest.mark.parametrize(
    ("gold", "prediction", "is_equal"),
    [
        ([(1,), (2,)], [(2,), (1,)], True),
        ([(1, 9)], [(9, 1)], True),
        ([("A", 1), ("B", 2)], [("A", 2), ("B", 1)], False),
        ([(1,), (2,)], [(1,), (1,), (2,)], True),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], True),
        ([(1,), (2,)], [(1, "id1"), (1, "id2"), (2, "id3")], False),
        ([(0.005,)], [(0,)], True),
        ([(0.025,)], [(0.03,)], False),
        ([(0.015,)], [(0.02,)], True),
        ([(0.3349,)], [(0.3351,)], False),
        ([(0.335,)], [(0.344,)], True),
        ([(1,)], [("1e0",)], True),
        ([(5,)], [("  5 ",)], True),
        ([(1,)], [("01",)], False),
        ([(1000,)], [("1,000",)], False),
        ([("x",), (1,)], [("x",), (1.0,)], False),
        ([("Yes",)], [("yes",)], False),
        ([("x",), (None,)], [("x",), ("",)], False),
        ([(None,)], [("",)], False),
        ([("Yes",)], [("Yes", "No")], True),
        # The first gold row takes the first row that it fits, and leaves none for the second.
        ([(1,), (2,)], [(1, 2), (1, 5)], False),
        ([(2,), (1,)], [(1, 2), (1, 5)], True),
        ([(2**53,)], [(2**53 + 1,)], True),
        ([(-0.0,)], [(0.0,)], True),
        ([(b"a",)], [("a",)], True),
    ],
)
def test_its_worked_examples_hold(gold: Rows, prediction: Rows, is_equal: bool) -> None:
    assert passes(gold, prediction) is is_equal


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 1e308, " Infinity"])
def test_infinities_are_compared_and_the_released_error_is_named(value: Cell) -> None:
    same = compare_compat(result([(value,)]), result([(value,)]))
    other = compare_compat(result([(value,)]), result([(1,)]))

    assert same.is_equal
    assert not other.is_equal
    assert same.departures == ("the released check ends in an error on an infinity",)


def test_columns_of_one_name_are_compared_and_the_released_error_is_named() -> None:
    twice = ResultSet(columns=("a", "a"), rows=((1, 2), (3, 4)))
    wrong = ResultSet(columns=("a", "a"), rows=((1, 2), (3, 5)))

    same = compare_compat(twice, twice)

    assert same.is_equal
    assert not compare_compat(twice, wrong).is_equal
    assert same.departures == ("the released check ends in an error on two columns of one name",)


def test_an_ordinary_verdict_names_no_departure() -> None:
    assert compare_compat(result([(1,)]), result([(1,)])).departures == ()


def test_zero_rows_pass_with_as_many_columns_or_more() -> None:
    nothing, wider = result([], n_columns=1), result([], n_columns=2)

    assert compare_compat(nothing, wider).is_equal
    assert not compare_compat(wider, nothing).is_equal
