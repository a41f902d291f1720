"""The SQL tasks of the starter pack: the full information gives the answer, a guess does not."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from task_store.records import SqlGold
from tests.task_store.starter.sealed import (
    SQL_IDS,
    TASKS,
    blocker_pairs,
    database_path,
    proof_of,
)

Rows = list[tuple[object, ...]]


def run(task_id: str, query: str) -> Rows:
    with closing(sqlite3.connect(f"file:{database_path(task_id)}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def gold_rows(task_id: str) -> Rows:
    gold = TASKS[task_id].gold
    assert isinstance(gold, SqlGold)
    assert gold.query is not None
    return run(task_id, gold.query)


def equal(rows: Rows, gold: Rows) -> bool:
    """Exactly the same rows, each as often; the order does not count."""
    return Counter(rows) == Counter(gold)


def test_there_are_six_sql_tasks() -> None:
    assert len(SQL_IDS) == 6


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_the_full_information_gives_the_gold_result(task_id: str) -> None:
    rows = run(task_id, proof_of(task_id).answer())

    assert equal(rows, gold_rows(task_id))


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_the_gold_result_is_short_and_has_no_empty_cell(task_id: str) -> None:
    rows = gold_rows(task_id)

    assert 1 <= len(rows) <= 30
    assert all(cell is not None for row in rows for cell in row)


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_no_two_rows_tie_in_the_column_by_which_the_result_is_sorted(task_id: str) -> None:
    """The statements ask for the name or for the last column as the order."""
    rows = gold_rows(task_id)
    by_name = sorted(rows, key=lambda row: str(row[0]))
    column = 0 if rows == by_name else -1

    assert len({row[column] for row in rows}) == len(rows)


@pytest.mark.parametrize(("task_id", "blocker_id"), blocker_pairs(SQL_IDS))
def test_every_wrong_guess_at_one_blocker_gives_another_result(
    task_id: str, blocker_id: str
) -> None:
    proof = proof_of(task_id)
    gold = gold_rows(task_id)
    wrong = proof.blockers[blocker_id].wrong

    assert len(set(wrong)) >= 3
    taken_for_right = [
        w for w in wrong if equal(run(task_id, proof.answer(**{blocker_id: w})), gold)
    ]

    assert taken_for_right == []


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_the_naive_answer_to_all_blockers_at_once_gives_another_result(task_id: str) -> None:
    proof = proof_of(task_id)
    naive = {blocker_id: sealed.naive for blocker_id, sealed in proof.blockers.items()}

    assert not equal(run(task_id, proof.answer(**naive)), gold_rows(task_id))
