"""Tasks from rows of the data set."""

# pyarrow ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.parquet
import pytest

from task_store import (
    InvalidTaskError,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
)
from task_store.errors import MissingExtraError
from task_store.sources.huggingface import find_rows
from tests.task_store.released import BLOCKERS, sql_row, swe_row

if TYPE_CHECKING:
    from pathlib import Path


def write_rows(path: Path, *rows: object) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def only_task(path: Path) -> Task:
    (candidate,) = find_rows(path)
    return candidate.load().task


def test_a_sql_row_is_a_task(tmp_path: Path) -> None:
    task = only_task(write_rows(tmp_path / "rows.jsonl", sql_row()))

    assert (task.task_id, task.aliases, task.source) == (
        "sql_7",
        ("public_sql_7",),
        "huggingface",
    )
    assert isinstance(task.environment, SqlEnvironment)
    assert task.environment.business_info == ("One door.", "7")
    assert task.environment.database.name == "lockers.sqlite"
    assert [a.name for a in task.environment.descriptions] == ["locker.csv"]
    assert task.gold == SqlGold(query="SELECT 1")
    assert [b.blocker_id for b in task.registry.blockers] == ["late_cutoff"]


def test_a_swe_row_is_a_task(tmp_path: Path) -> None:
    task = only_task(write_rows(tmp_path / "rows.jsonl", swe_row()))

    assert (task.task_id, task.aliases) == ("swe_3", ("public_swe_3", "abc"))
    assert isinstance(task.environment, RepositoryEnvironment)
    image = task.environment.image
    assert image is not None
    assert (image.name, image.image) == ("abc.tar.zst", "hilbench-swe:abc")
    assert task.environment.language == "python"
    assert isinstance(task.gold, RepositoryGold)
    assert task.gold.fail_to_pass == ("t.py::test_a",)


@pytest.mark.parametrize(
    ("tests", "language"),
    [
        (["a.py::t"], "python"),
        (["a.test.ts | does it"], "js"),
        (["TestIt"], "go"),
        ([], "unknown"),
    ],
)
def test_the_language_follows_from_the_names_of_the_tests(
    tmp_path: Path, tests: list[str], language: str
) -> None:
    task = only_task(write_rows(tmp_path / "rows.jsonl", swe_row(tests_to_pass=tests)))

    assert isinstance(task.environment, RepositoryEnvironment)
    assert task.environment.language == language


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        (None, ()),
        ("  ", ()),
        ("One rule, [not] a list", ("One rule, [not] a list",)),
        ('["a", ""]', ("a",)),
        (["a", None, 3], ("a", "3")),
    ],
)
def test_business_rules_come_in_all_their_forms(
    tmp_path: Path, value: object, rules: tuple[str, ...]
) -> None:
    task = only_task(write_rows(tmp_path / "rows.jsonl", sql_row(business_info=value)))

    assert isinstance(task.environment, SqlEnvironment)
    assert task.environment.business_info == rules


@pytest.mark.parametrize("registry", [None, "", {"blockers": BLOCKERS}, BLOCKERS])
def test_a_registry_comes_in_all_its_forms(tmp_path: Path, registry: object) -> None:
    task = only_task(write_rows(tmp_path / "rows.jsonl", sql_row(blocker_registry=registry)))

    assert len(task.registry) == (1 if registry else 0)
    assert bool(task.warnings) == (not registry)


def test_links_to_local_files_bring_them_along(tmp_path: Path) -> None:
    (tmp_path / "d.sqlite").write_bytes(b"x")
    row = sql_row(
        repo_or_db_download_link="d.sqlite", schema_descriptions_download_links="gone/locker.csv"
    )

    (candidate,) = find_rows(write_rows(tmp_path / "rows.jsonl", row))
    imported = candidate.load()

    assert imported.files == {"d.sqlite": tmp_path / "d.sqlite"}
    assert isinstance(imported.task.environment, SqlEnvironment)
    (description,) = imported.task.environment.descriptions
    assert description.source == str(tmp_path / "gone" / "locker.csv")


def test_a_line_that_is_wrong_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "rows.jsonl", sql_row(), "", "{", "[]", sql_row(problem="A\u2028B")
    )

    candidates = list(find_rows(path))

    assert [c.place.rpartition(":")[2] for c in candidates] == ["1", "3", "4", "5"]
    assert candidates[3].load().task.statement == "A\u2028B"
    with pytest.raises(InvalidTaskError, match=r"rows.jsonl:3: is not a line of JSON"):
        candidates[1].load()
    with pytest.raises(InvalidTaskError, match=r"rows.jsonl:4: is a list, an object is expected"):
        candidates[2].load()


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (sql_row(task_type="prose"), "task_type: 'prose' is neither sql nor swe"),
        (sql_row(problem=None), "problem: is missing"),
        (sql_row(business_info="[a"), 'business_info: starts with "[" and is not JSON'),
        (sql_row(business_info={}), "business_info: is neither a list nor text"),
        (sql_row(blocker_registry="{"), "blocker_registry: is text that is not JSON"),
        (sql_row(blocker_registry=[{}]), "blocker_registry.blockers[0].id: is missing"),
        (sql_row(task_id="a/b"), "task_id: 'a/b' is no task id"),
        (swe_row(uid=None), "uid: is missing"),
        (swe_row(tests_to_pass="all"), "tests_to_pass: is plain text, a list is expected"),
    ],
)
def test_a_column_that_is_wrong_is_named(
    tmp_path: Path, row: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InvalidTaskError, match=re.escape(f"rows.jsonl:1: {complaint}")):
        only_task(write_rows(tmp_path / "rows.jsonl", row))


def write_parquet(path: Path, *rows: dict[str, Any]) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def test_parquet_rows_are_the_same_as_json_rows(tmp_path: Path) -> None:
    text = only_task(write_rows(tmp_path / "rows.jsonl", sql_row()))

    assert only_task(write_parquet(tmp_path / "rows.parquet", sql_row())) == text

    with pytest.raises(InvalidTaskError, match=r"bad.parquet:row 1: task_type"):
        only_task(write_parquet(tmp_path / "bad.parquet", sql_row(task_type="x")))


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.parquet", sql_row())

    with pytest.raises(InvalidTaskError, match=r"rows.parquet: is not a parquet file: "):
        list(find_rows(path))


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    with pytest.raises(MissingExtraError, match=r'needs the extra "parquet": pip install'):
        list(find_rows(write_rows(tmp_path / "rows.parquet", sql_row())))


def test_rows_that_are_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").mkdir()

    with pytest.raises(InvalidTaskError, match=r"rows.jsonl: cannot be read: Is a directory"):
        list(find_rows(tmp_path))
