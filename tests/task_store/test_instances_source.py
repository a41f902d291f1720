"""Tasks from the `instances.json` that the released runner writes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from task_store import (
    InvalidTaskError,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
)
from task_store.sources.instances import find_instances
from tests.task_store.folders import write_files
from tests.task_store.released import BLOCKERS

if TYPE_CHECKING:
    from pathlib import Path

    from task_store.sources.candidate import ImportedTask

ELSEWHERE = "/gone/run_1/sql/sql_tasks/sql_4"


def sql_item(folder: str = ELSEWHERE, **problem: object) -> dict[str, Any]:
    return {
        "env": {
            "database_type": "sqlite",
            "database_name": "lockers",
            "base_db_path": f"{folder}/lockers.sqlite",
            "diff_queries": [],
        },
        "problem_statement": {
            "id": "sql_4__some_model__ask_human__pass_2",
            "question": "How many?",
            "ground_truth_query": "SELECT 1",
            "business_info": ["One door."],
            "blocker_registry_path": f"{folder}/blocker_registry.json",
            "table_descriptions_path": f"{folder}/table_descriptions.csv",
            **problem,
        },
    }


def swe_item(**extra: object) -> dict[str, Any]:
    return {
        "instance_id": "swe_5__some_model__baseline",
        "problem_statement": "Retry it.",
        "repo_name": "app",
        "base_commit": "HEAD",
        "image_name": "hilbench-swe:abc",
        "extra_fields": {
            "uid": "abc",
            "repo_or_db_name": "own/queue",
            "ground_truth_patch": "diff",
            "blocker_registry_path": "/gone/swe/swe_tasks/swe_5/blocker_registry.json",
            **extra,
        },
    }


def write_workspace(folder: Path, *items: object) -> Path:
    registry = json.dumps({"blockers": BLOCKERS})
    write_files(
        folder,
        {
            "instances.json": json.dumps(items),
            "sql_tasks/sql_4/blocker_registry.json": registry,
            "sql_tasks/sql_4/lockers.sqlite": "x",
            "sql_tasks/sql_4/table_descriptions.csv": "t",
            "sql_tasks/sql_4/locker.csv": "c",
            "swe_tasks/swe_5/blocker_registry.json": registry,
            "swe_tasks/swe_5/abc.tar.zst": "image",
            "swe_tasks/swe_5/metadata.json": json.dumps(
                {"swe_bench_metadata": {"FAIL_TO_PASS": ["TestIt"]}, "test_patch": "p\n"}
            ),
        },
    )
    return folder / "instances.json"


def read(path: Path) -> ImportedTask:
    (candidate,) = find_instances(path)
    return candidate.load()


def test_a_sql_item_finds_its_files_below_the_file(tmp_path: Path) -> None:
    imported = read(write_workspace(tmp_path, sql_item()))

    task, folder = imported.task, tmp_path / "sql_tasks" / "sql_4"
    assert (task.task_id, task.source, task.statement) == ("sql_4", "instances", "How many?")
    assert task.gold == SqlGold(query="SELECT 1")
    assert isinstance(task.environment, SqlEnvironment)
    assert task.environment.business_info == ("One door.",)
    assert imported.files == {
        "lockers.sqlite": folder / "lockers.sqlite",
        "locker.csv": folder / "locker.csv",
        "table_descriptions.csv": folder / "table_descriptions.csv",
    }
    assert len(task.registry) == 1


def test_a_path_that_is_still_right_is_used(tmp_path: Path) -> None:
    path = write_workspace(tmp_path / "a")
    (tmp_path / "b").mkdir()
    moved = tmp_path / "b" / "instances.json"
    moved.write_text(json.dumps([sql_item(str(path.parent / "sql_tasks" / "sql_4"))]))

    assert read(moved).files["lockers.sqlite"] == path.parent / "sql_tasks/sql_4/lockers.sqlite"


def test_a_swe_item_finds_its_image_and_its_tests(tmp_path: Path) -> None:
    imported = read(write_workspace(tmp_path, swe_item()))

    task = imported.task
    assert (task.task_id, task.aliases) == ("swe_5", ("abc",))
    assert isinstance(task.environment, RepositoryEnvironment)
    assert (task.environment.repository, task.environment.language) == ("own/queue", "go")
    assert imported.files == {"abc.tar.zst": tmp_path / "swe_tasks" / "swe_5" / "abc.tar.zst"}
    assert isinstance(task.gold, RepositoryGold)
    assert (task.gold.patch, task.gold.test_patch) == ("diff", "p\n")
    assert task.warnings == ()


@pytest.mark.parametrize(
    ("written", "task_id"),
    [
        ("public_swe_5", "swe_5"),
        ("own_task__a_model__full_info", "own_task"),
        ("instance_own__queue-1", "instance_own__queue-1"),
    ],
)
def test_an_id_loses_what_the_runner_added(tmp_path: Path, written: str, task_id: str) -> None:
    item = swe_item() | {"instance_id": written}

    assert read(write_workspace(tmp_path, item)).task.task_id == task_id


def test_what_is_no_longer_there_is_missing(tmp_path: Path) -> None:
    path = write_workspace(tmp_path, sql_item(), swe_item(uid=None))
    for name in ("sql_4/lockers.sqlite", "sql_4/table_descriptions.csv"):
        (tmp_path / "sql_tasks" / name).unlink()
    for name in ("abc.tar.zst", "metadata.json"):
        (tmp_path / "swe_tasks" / "swe_5" / name).unlink()

    sql, swe = (candidate.load() for candidate in find_instances(path))

    assert {a.name: a.source for a in sql.task.artefacts} == {
        "lockers.sqlite": f"{ELSEWHERE}/lockers.sqlite",
        "table_descriptions.csv": f"{ELSEWHERE}/table_descriptions.csv",
    }
    assert sql.files == {}
    assert [a.name for a in swe.task.artefacts] == ["abc.tar.zst"]
    assert len(swe.task.warnings) == 1


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        (3, "[0]: is a number, an object is expected"),
        ({"env": 1}, "[0].env: is a number, an object is expected"),
        (sql_item() | {"problem_statement": None}, "[0].problem_statement: is missing"),
        (sql_item(id=" "), "[0].problem_statement.id: is empty"),
        (sql_item(blocker_registry_path="/x/y"), "blocker_registry_path: is neither there nor"),
        (swe_item() | {"extra_fields": None}, "[0].extra_fields: is missing"),
    ],
)
def test_an_item_that_is_wrong_is_named(tmp_path: Path, item: object, complaint: str) -> None:
    path = write_workspace(tmp_path, item)

    with pytest.raises(InvalidTaskError, match=re.escape(complaint)):
        read(path)


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("database_type", "postgres", r"env.database_type: 'postgres' is not sqlite"),
        ("diff_queries", ["x"], r"env.diff_queries: is not empty"),
    ],
)
def test_an_environment_that_is_not_supported_is_refused(
    tmp_path: Path, key: str, value: object, complaint: str
) -> None:
    item = sql_item()
    item["env"][key] = value

    with pytest.raises(InvalidTaskError, match=complaint):
        read(write_workspace(tmp_path, item))


def test_a_file_that_is_no_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "instances.json").write_text("{}")

    with pytest.raises(InvalidTaskError, match=r"instances.json: is an object, a list is expected"):
        list(find_instances(tmp_path / "instances.json"))
