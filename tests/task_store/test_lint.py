"""What is wrong or odd with a task is said in words, and no answer with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from task_store import (
    Blocker,
    BlockerId,
    Registry,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
)
from task_store.lint import key_values, lint_task, sql_trouble
from task_store.sources.folder import read_task_folder
from task_store.sources.harbor import find_harbor_tasks
from tests.task_store.folders import write_repository_task, write_sql_task

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def sql_task(tmp_path: Path) -> Task:
    return present(read_task_folder(write_sql_task(tmp_path / "sql")).task)


@pytest.fixture
def repository_task(tmp_path: Path) -> Task:
    return read_task_folder(write_repository_task(tmp_path / "repository")).task


def present(task: Task) -> Task:
    assert isinstance(task.environment, SqlEnvironment)
    database = replace(task.environment.database, stored_sha256="0" * 64)
    descriptions = tuple(replace(a, stored_sha256="0") for a in task.environment.descriptions)
    return replace(
        task,
        environment=replace(task.environment, database=database, descriptions=descriptions),
    )


def with_blocker(task: Task, resolution: str, *questions: str) -> Task:
    blocker = Blocker(
        blocker_id=BlockerId("a"),
        description="d",
        resolution=resolution,
        example_questions=questions,
        type="missing parameters",
    )
    return replace(task, registry=Registry(blockers=(blocker,)))


def remarks(task: Task) -> list[str]:
    return [f"{finding.severity}: {finding.message}" for finding in lint_task(task)]


def test_a_good_task_has_one_remark_or_none(sql_task: Task) -> None:
    assert remarks(with_blocker(sql_task, "At or after 18:30.", "What hour is late?")) == []
    assert remarks(sql_task) == [
        "warning: blockers[1]: neither its type nor its subtype tells its category"
    ]


@pytest.mark.parametrize(
    ("questions", "expected"),
    [
        ((), ["has no example questions"]),
        (("Is it late?",), ["1 of 1 example questions have no word that asks"]),
        (("Tell me what is late",), ["do not end in a question mark"]),
        (("What? Why?",), ["ask more than one question"]),
        (('"What?',), ["start with a quotation mark"]),
        (("What is  late?", "what is late?"), ["an example question stands there twice"]),
        (("Please define late?",), []),
    ],
)
def test_examples_that_the_judges_rules_refuse_are_counted(
    sql_task: Task, questions: tuple[str, ...], expected: list[str]
) -> None:
    found = remarks(with_blocker(sql_task, "r", *questions))

    assert len(found) >= len(expected)
    assert all(any(text in remark for remark in found) for text in expected)
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(
    ("resolution", "values"),
    [
        ("Late is after 18:30, by 'R3' or \"G2\".", {"18", "30", "R3", "G2"}),
        ("The 'crisis period' of 1,996 has 5 parts and 2.5 ends.", {"1,996", "2.5"}),
        ("Call `f('x1')` in v2.", set[str]()),
    ],
)
def test_key_values_are_codes_and_numbers(resolution: str, values: set[str]) -> None:
    assert key_values(resolution) == values


def test_a_key_value_in_sight_is_counted_and_not_told(sql_task: Task) -> None:
    leaking = replace(sql_task, statement="How many after 1830 are not 'R3'?")
    task = with_blocker(leaking, "After 1830, 'R3' and 'G2'.", "What hour?")

    (remark,) = remarks(task)

    assert "blockers[0]: 2 of 3 key values of its resolution can be seen" in remark
    assert "1830" not in remark
    assert remarks(with_blocker(sql_task, "After 1830.", "What hour?")) == []


def test_what_the_importer_mended_is_said(sql_task: Task) -> None:
    assert "warning: mended" in remarks(replace(sql_task, warnings=("mended",)))


@pytest.mark.parametrize(
    ("query", "trouble"),
    [
        ("SELECT a FROM nowhere; -- the end;", None),
        ("WITH x AS (SELECT 1) SELECT * FROM x", None),
        ("SELEC 1", 'near "selec": syntax error'),
        ("SELECT 'a", "unrecognized token"),
        ("SELECT (1", "incomplete input"),
        ("SELECT 1; SELECT 2", "you can only execute one statement at a time"),
    ],
)
def test_a_query_is_parsed_without_its_database(query: str, trouble: str | None) -> None:
    found = sql_trouble(query)

    assert found is None if trouble is None else trouble in str(found).lower()


def test_a_task_that_cannot_be_graded_is_an_error(sql_task: Task) -> None:
    assert remarks(replace(sql_task, gold=SqlGold(query=None)))[0] == (
        "error: there is no hidden answer: the task cannot be graded"
    )
    assert remarks(replace(sql_task, gold=SqlGold(query="SELEC")))[0].startswith(
        "error: the hidden answer does not parse as one SQLite query: "
    )


def test_a_sql_task_without_rules_or_table_descriptions_is_odd(sql_task: Task) -> None:
    assert isinstance(sql_task.environment, SqlEnvironment)
    bare = replace(sql_task.environment, business_info=(), descriptions=())
    twice = replace(sql_task.environment, business_info=("One.", "One."))

    bare_remarks = remarks(replace(sql_task, environment=bare))

    assert any("no business rules" in remark for remark in bare_remarks)
    assert any("no table_descriptions.csv" in remark for remark in bare_remarks)
    assert any("stands there twice" in r for r in remarks(replace(sql_task, environment=twice)))


def test_files_to_fetch_are_named_with_the_command(repository_task: Task) -> None:
    assert remarks(repository_task)[-1] == (
        'warning: not on this machine: repository.tar; "hil-mcp tasks fetch queue_retry" fetches '
        "them"
    )


def test_a_repository_task_that_cannot_be_graded_is_an_error(repository_task: Task) -> None:
    gold = RepositoryGold(patch=None, test_patch="text", fail_to_pass=())

    found = remarks(replace(repository_task, gold=gold))

    assert found[:2] == [
        "error: no test has to pass: the task cannot be graded",
        "error: the test patch is not a patch",
    ]
    assert any("there is no hidden answer" in remark for remark in found)


def test_no_shared_task_has_an_error(shared_dir: Path) -> None:
    for candidate in find_harbor_tasks(shared_dir / "hil-bench"):
        task = candidate.load().task
        findings = lint_task(task)

        assert not [finding for finding in findings if finding.severity == "error"], task.task_id
        text = " ".join(finding.message for finding in findings)
        assert not any(blocker.resolution in text for blocker in task.registry.blockers)
