"""Tasks from a Harbor checkout."""

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
from task_store.sources.harbor import find_harbor_tasks, read_harbor_task
from tests.task_store.released import QUESTION, write_harbor_sql, write_harbor_swe

if TYPE_CHECKING:
    from pathlib import Path


def test_the_statement_of_a_sql_task_is_the_question_alone(tmp_path: Path) -> None:
    task = read_harbor_task(write_harbor_sql(tmp_path)).task

    assert task.statement == QUESTION
    assert set(task.released_instructions) == {"baseline", "full_info"}
    assert task.released_instructions["baseline"].startswith("# Instructions\n")
    assert (task.task_id, task.aliases) == ("sql_0", ("public_sql_0", "a0_b0"))
    assert task.gold == SqlGold(query="SELECT 1;\r\n", result_csv="1\n1\n")
    assert task.warnings == ()


def test_a_database_is_named_where_it_is_kept_and_taken_where_it_lies(tmp_path: Path) -> None:
    write_harbor_sql(tmp_path)
    database = tmp_path / "shared" / "data" / "database.sqlite"
    database.write_bytes(b"x")

    imported = read_harbor_task(tmp_path)

    environment = imported.task.environment
    assert isinstance(environment, SqlEnvironment)
    assert environment.database.source == "hf://buckets/Own/sql/public_sql_0/lockers.sqlite"
    assert imported.files == {"lockers.sqlite": database}
    assert [a.name for a in environment.descriptions] == ["table_descriptions.csv"]


def test_a_swe_task_has_its_image_and_its_hidden_tests(tmp_path: Path) -> None:
    task = read_harbor_task(write_harbor_swe(tmp_path)).task

    environment, gold = task.environment, task.gold
    assert isinstance(environment, RepositoryEnvironment)
    assert isinstance(gold, RepositoryGold)
    assert environment.image is not None
    assert environment.image.source == "hf://buckets/Own/images/images/abc.tar.zst"
    assert (environment.image.sha256, environment.image.size_bytes) == ("0" * 64, 12)
    assert (environment.image.image, environment.working_dir) == ("hilbench-swe:abc", "/app")
    assert (environment.repository, environment.language) == ("own/queue", "python")
    assert task.statement == "Retry {{ it }}.\n"
    assert task.aliases == ("instance_own__queue-1-v2", "abc")
    assert gold.fail_to_pass == ("t.py::test_a",)
    assert gold.test_patch == "--- a/t.py\n+++ b/t.py\n"
    assert task.warnings == ("added the line end that the test patch lacks",)


def test_what_a_copy_lacks_or_counts_otherwise_is_said(tmp_path: Path) -> None:
    folder = write_harbor_swe(tmp_path, test_patch="", blocker_stats={"total": 4})
    (folder / "baseline" / "solution").mkdir()
    (folder / "baseline" / "solution" / "ground_truth.patch").write_text("diff")

    task = read_harbor_task(folder).task

    assert isinstance(task.gold, RepositoryGold)
    assert task.gold.patch == "diff"
    assert task.warnings == (
        "metadata.json counts 4 blockers and the registry holds 1",
        "there is no test patch here: the task can be served and not graded",
    )


def test_tasks_are_found_from_the_checkout_down(tmp_path: Path) -> None:
    for number in (10, 2):
        write_harbor_sql(tmp_path / "harbor_sql" / f"sql_{number}", number=number)
    write_harbor_swe(tmp_path / "harbor_swe" / "swe_0")
    (tmp_path / "docs").mkdir()

    def found(path: Path) -> list[str]:
        return [candidate.load().task.task_id for candidate in find_harbor_tasks(path)]

    assert found(tmp_path) == ["sql_2", "sql_10", "swe_0"]
    assert found(tmp_path / "harbor_sql") == ["sql_2", "sql_10"]
    assert found(tmp_path / "harbor_sql" / "sql_2") == ["sql_2"]


def change(file: Path, **changes: object) -> None:
    values: dict[str, Any] = json.loads(file.read_text())
    file.write_text(json.dumps({**values, **changes}))


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("shared/metadata.json", None, "metadata.json: is missing"),
        ("shared/metadata.json", b"[]", "metadata.json: is a list, an object is expected"),
        ("shared/metadata.json", b"{\n\n,", "metadata.json:3: is not JSON"),
        ("shared/metadata.json", b"\xff", "metadata.json: is not UTF-8 at byte 0"),
        ("shared/metadata.json", b"[" * 100_000, "metadata.json: is nested too deeply"),
        ("shared/metadata.json", b'{"dataset_name": "a/b"}', "metadata.json: database_name: is m"),
        ("shared/ask-human-data/blocker_registry.json", b"3", "registry.json: is a number"),
        ("shared/data_archive.json", b"{}", "data_archive.json: hf_bucket: is missing"),
        ("shared/data/business_info.json", b'{"database_name": "b"}', "is not 'lockers', which"),
        ("baseline/instruction.md", b"Do it.", "has no question after"),
        ("baseline/instruction.md", None, "instruction.md: is missing"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes | None, complaint: str
) -> None:
    file = write_harbor_sql(tmp_path) / name
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)

    with pytest.raises(InvalidTaskError, match=re.escape(complaint)):
        read_harbor_task(tmp_path)


def test_a_file_that_is_a_folder_is_named(tmp_path: Path) -> None:
    file = write_harbor_sql(tmp_path) / "shared" / "data_archive.json"
    file.unlink()
    file.mkdir()

    with pytest.raises(InvalidTaskError, match="cannot be read: Is a directory"):
        read_harbor_task(tmp_path)


def test_an_id_that_is_no_file_name_is_refused(tmp_path: Path) -> None:
    change(write_harbor_sql(tmp_path) / "shared" / "metadata.json", dataset_name="../x")

    with pytest.raises(InvalidTaskError, match=r"dataset_name: '\.\./x' is no task id"):
        read_harbor_task(tmp_path)


def test_all_shared_tasks_are_read(shared_dir: Path) -> None:
    tasks = [c.load().task for c in find_harbor_tasks(shared_dir / "hil-bench")]

    assert len(tasks) == 100
    assert sum(isinstance(task.gold, SqlGold) for task in tasks) == 50
    for task in tasks:
        assert len(task.registry) in (3, 4, 5)
        assert all(b.category for b in task.registry.blockers), task.task_id
        assert not any(
            q.startswith("-") for b in task.registry.blockers for q in b.example_questions
        )
        if isinstance(task.environment, SqlEnvironment):
            assert task.statement in task.released_instructions["full_info"]
            assert task.warnings == ()
        else:
            assert task.statement == task.released_instructions["baseline"]
