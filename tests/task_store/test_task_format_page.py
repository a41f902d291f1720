"""The examples of docs/task-format.md are tasks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from task_store import Blocker, RepositoryEnvironment, RepositoryGold, SqlEnvironment
from task_store.sources.folder import read_task_folder
from tests.task_store.folders import write_files, write_repository_task, write_sql_task

PAGE = Path(__file__).resolve().parents[2] / "docs" / "task-format.md"


@pytest.fixture(scope="module")
def examples() -> list[str]:
    found = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == 3
    return found


def test_the_sql_example_is_a_task(tmp_path: Path, examples: list[str]) -> None:
    write_files(write_sql_task(tmp_path), {"task.toml": examples[0]})

    task = read_task_folder(tmp_path).task

    assert task.task_id == "lockers_late"
    assert isinstance(task.environment, SqlEnvironment)
    assert [blocker.category for blocker in task.registry.blockers] == ["missing"]


def test_the_repository_example_is_a_task(tmp_path: Path, examples: list[str]) -> None:
    head, _, blockers = examples[0].partition("[sql]")
    blockers = blockers[blockers.index("[[blockers]]") :]
    top = head.replace('kind = "sql"', 'kind = "repository"')
    write_files(
        write_repository_task(tmp_path),
        {"task.toml": "\n".join([top, examples[1], examples[2], blockers])},
    )

    task = read_task_folder(tmp_path).task

    assert isinstance(task.environment, RepositoryEnvironment)
    assert task.environment.image is not None
    assert task.environment.image.image == "parcels-queue:1"
    assert isinstance(task.gold, RepositoryGold)
    assert task.gold.pass_to_pass == ("tests.test_queue.QueueTest.test_is_first_in_first_out",)


def test_what_the_page_says_may_be_left_out_can_be_put_in(
    tmp_path: Path, examples: list[str]
) -> None:
    statement = 'statement = "How many drop-offs'
    text = examples[0].replace("# aliases", "aliases").replace("# result_csv", "result_csv")
    lines = [line for line in text.split("\n") if not line.startswith(statement)]
    text = "\n".join(lines).replace("# statement_file", "statement_file")
    write_files(
        write_sql_task(tmp_path), {"task.toml": text, "statement.md": "Why?\n", "golden.csv": "n\n"}
    )

    task = read_task_folder(tmp_path).task

    assert (task.statement, task.aliases) == ("Why?", ("public_lockers_late",))
    assert isinstance(task.registry.blockers[0], Blocker)
