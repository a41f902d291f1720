"""What the agent can read of a starter task, and what the registry says."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from task_store.records import SqlEnvironment
from task_store.tree import tree_files
from tests.task_store.starter.sealed import (
    SQL_IDS,
    TASKS,
    blocker_pairs,
    database_path,
    proof_of,
)

ALL = blocker_pairs(list(TASKS))
_TYPES = {"missing parameters", "ambiguous requirements", "contradictory requirements"}


def visible_texts(task_id: str) -> dict[str, str]:
    """Everything that the agent can read before it asks, by where it stands."""
    task = TASKS[task_id]
    texts = {"statement": task.statement}
    for artefact in task.artefacts:
        assert artefact.source is not None
        path = Path(artefact.source)
        if artefact.role == "description":
            texts[path.name] = path.read_text(encoding="utf-8")
        elif artefact.role == "repository":
            texts |= {n: f.read_text(encoding="utf-8") for n, f in tree_files(path).items()}
    if isinstance(task.environment, SqlEnvironment):
        texts |= {f"rule {n}": r for n, r in enumerate(task.environment.business_info, 1)}
        with closing(sqlite3.connect(f"file:{database_path(task_id)}?mode=ro", uri=True)) as db:
            texts["schema"] = "\n".join(
                sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema") if sql
            )
    return texts


def stands_in(value: str, text: str) -> bool:
    """Whether the value stands there as words of its own, line breaks as spaces, in any case."""
    flat = " ".join(text.split())
    return re.search(rf"(?<![\w.,:]){re.escape(value)}(?![\w:]|[.,]\d)", flat, re.I) is not None


@pytest.mark.parametrize(("task_id", "blocker_id"), ALL)
def test_no_key_value_of_a_resolution_stands_in_a_text_that_the_agent_can_see(
    task_id: str, blocker_id: str
) -> None:
    values = proof_of(task_id).blockers[blocker_id].key_values
    texts = visible_texts(task_id)

    assert [(v, place) for v in values for place, text in texts.items() if stands_in(v, text)] == []


@pytest.mark.parametrize(("task_id", "blocker_id"), ALL)
def test_the_resolution_has_a_key_value_and_no_other_resolution_of_the_task_has_it(
    task_id: str, blocker_id: str
) -> None:
    values = proof_of(task_id).blockers[blocker_id].key_values
    registry = TASKS[task_id].registry
    with_value = {
        str(b.blocker_id)
        for b in registry.blockers
        if any(stands_in(value, b.resolution) for value in values)
    }

    assert with_value == {blocker_id}


@pytest.mark.parametrize(("task_id", "blocker_id"), ALL)
def test_three_or_more_wrong_guesses_are_known_for_each_blocker(
    task_id: str, blocker_id: str
) -> None:
    sealed = proof_of(task_id).blockers[blocker_id]

    assert len(set(sealed.wrong)) == len(sealed.wrong) >= 3
    assert sealed.right not in sealed.wrong


@pytest.mark.parametrize(("task_id", "blocker_id"), ALL)
def test_no_key_value_stands_in_a_description_or_an_example_question(
    task_id: str, blocker_id: str
) -> None:
    values = proof_of(task_id).blockers[blocker_id].key_values
    blockers = TASKS[task_id].registry.blockers
    texts = [t for b in blockers for t in (b.description, *b.example_questions)]

    assert [(v, t) for v in values for t in texts if stands_in(v, t)] == []


@pytest.mark.parametrize("task_id", TASKS)
def test_a_task_has_three_to_five_blockers_over_all_types(task_id: str) -> None:
    blockers = TASKS[task_id].registry.blockers

    assert 3 <= len(blockers) <= 5
    assert {b.type for b in blockers} == _TYPES
    assert set(proof_of(task_id).blockers) == {b.blocker_id for b in blockers}
    for blocker in blockers:
        assert blocker.category is not None
        assert (blocker.type or "").startswith(blocker.category)


@pytest.mark.parametrize(("task_id", "blocker_id"), ALL)
def test_example_questions_are_single_questions_that_ask_for_something(
    task_id: str, blocker_id: str
) -> None:
    blocker = TASKS[task_id].registry.get(blocker_id)
    assert blocker is not None
    questions = blocker.example_questions

    assert 3 <= len(set(questions)) <= 5
    for question in questions:
        assert question.endswith("?")
        assert question.count("?") == 1
        assert re.search(r"\b(what|why|how|where|when|which|who)\b", question, re.I)


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_a_sql_task_has_twenty_or_more_different_business_rules(task_id: str) -> None:
    environment = TASKS[task_id].environment
    assert isinstance(environment, SqlEnvironment)
    rules = environment.business_info

    assert len(set(rules)) == len(rules) >= 20
    assert all(30 < len(rule) < 250 for rule in rules)


@pytest.mark.parametrize("task_id", TASKS)
def test_the_reader_mended_nothing_in_a_task(task_id: str) -> None:
    assert TASKS[task_id].warnings == ()
