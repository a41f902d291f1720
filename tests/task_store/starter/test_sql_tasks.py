"""The SQL tasks of the starter pack: the full information gives the answer, a guess does not."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from hil_mcp.sql.compare_compat import compare_compat
from hil_mcp.sql.compare_strict import compare_strict
from hil_mcp.sql.gold_order import GoldOrder
from hil_mcp.sql.grade import grade_sql
from hil_mcp.sql.outcome import ResultSet
from task_store.records import SqlGold
from tests.task_store.starter.sealed import (
    SQL_IDS,
    TASKS,
    blocker_pairs,
    database_path,
    proof_of,
)


def run(task_id: str, query: str) -> ResultSet:
    with closing(sqlite3.connect(f"file:{database_path(task_id)}?mode=ro", uri=True)) as connection:
        cursor = connection.execute(query)
        columns = tuple(str(column[0]) for column in cursor.description)
        return ResultSet(columns=columns, rows=tuple(cursor.fetchall()))


def gold_of(task_id: str) -> SqlGold:
    gold = TASKS[task_id].gold
    assert isinstance(gold, SqlGold)
    return gold


def gold_result(task_id: str) -> ResultSet:
    query = gold_of(task_id).query
    assert query is not None
    return run(task_id, query)


def is_passed(gold: ResultSet, given: ResultSet) -> bool:
    """Whether either check of the grader lets it pass, in whatever order the rows stand."""
    return compare_compat(gold, given).is_equal or compare_strict(gold, given, GoldOrder()).is_equal


def test_there_are_six_sql_tasks() -> None:
    assert len(SQL_IDS) == 6


@pytest.mark.parametrize("task_id", SQL_IDS)
async def test_the_full_information_is_graded_right(task_id: str) -> None:
    answer = proof_of(task_id).answer()

    finding = await grade_sql(gold_of(task_id), database_path(task_id), answer)

    assert (finding.compat, finding.strict) == (True, True), finding.detail


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_the_gold_result_is_short_and_has_no_empty_cell(task_id: str) -> None:
    rows = gold_result(task_id).rows

    assert 1 <= len(rows) <= 30
    assert all(cell is not None for row in rows for cell in row)


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_no_two_rows_tie_in_the_column_by_which_the_result_is_sorted(task_id: str) -> None:
    """The statements ask for the name or for the last column as the order."""
    rows = gold_result(task_id).rows
    names = [str(row[0]) for row in rows]
    column = 0 if names == sorted(names) else -1

    assert len({row[column] for row in rows}) == len(rows)


@pytest.mark.parametrize(("task_id", "blocker_id"), blocker_pairs(SQL_IDS))
def test_every_wrong_guess_at_one_blocker_is_graded_wrong(task_id: str, blocker_id: str) -> None:
    proof = proof_of(task_id)
    gold = gold_result(task_id)
    wrong = proof.blockers[blocker_id].wrong

    passed = [
        guess
        for guess in wrong
        if is_passed(gold, run(task_id, proof.answer(**{blocker_id: guess})))
    ]

    assert passed == []
    assert is_passed(gold, run(task_id, proof.answer()))


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_the_naive_answer_to_all_blockers_at_once_is_graded_wrong(task_id: str) -> None:
    proof = proof_of(task_id)
    naive = {blocker_id: sealed.naive for blocker_id, sealed in proof.blockers.items()}

    assert not is_passed(gold_result(task_id), run(task_id, proof.answer(**naive)))
