"""Our own folder format, as docs/task-format.md describes it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from task_store import (
    InvalidTaskError,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    TaskKind,
)
from task_store.sources.folder import find_task_folders, read_task_folder
from tests.task_store.folders import write_files, write_repository_task, write_sql_task


def edit(folder: Path, old: str, new: str) -> Path:
    file = folder / "task.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    return folder


@pytest.fixture
def sql_folder(tmp_path: Path) -> Path:
    return write_sql_task(tmp_path / "lockers_late")


@pytest.fixture
def repository_folder(tmp_path: Path) -> Path:
    return write_repository_task(tmp_path / "queue_retry")


def test_a_sql_folder_is_read_whole(sql_folder: Path) -> None:
    imported = read_task_folder(sql_folder)

    task = imported.task
    assert (task.task_id, task.kind, task.source) == ("lockers_late", TaskKind.SQL, "folder")
    assert task.statement == "How many drop-offs were late, for each active locker?"
    assert task.gold == SqlGold(query="SELECT 1;\n")
    assert isinstance(task.environment, SqlEnvironment)
    assert task.environment.business_info == ("A locker has one door.", "A parcel has one sender.")
    assert [a.name for a in task.artefacts] == [
        "lockers.sqlite",
        "locker.csv",
        "table_descriptions.csv",
    ]
    assert imported.files["lockers.sqlite"] == sql_folder / "lockers.sqlite"
    assert [b.category for b in task.registry.blockers] == ["missing", None]


def test_hidden_tests_become_a_patch_that_git_applies(repository_folder: Path) -> None:
    imported = read_task_folder(repository_folder)
    gold, environment = imported.task.gold, imported.task.environment
    assert isinstance(gold, RepositoryGold)
    assert isinstance(environment, RepositoryEnvironment)
    assert environment.tree is not None
    assert gold.test_files == ("tests/test_queue.py", "tests/test_retry.py")

    subprocess.run(
        ["git", "apply", "-"],
        cwd=repository_folder / "repository",
        input=gold.test_patch.encode(),
        check=True,
        env={"GIT_CEILING_DIRECTORIES": str(repository_folder), "PATH": "/usr/bin:/bin"},
    )

    for name in gold.test_files:
        laid = (repository_folder / "repository" / name).read_text()
        assert laid == (repository_folder / "hidden_tests" / name).read_text()


def test_a_statement_file_loses_its_last_line_end_alone(sql_folder: Path) -> None:
    edit(
        sql_folder,
        'statement = "How many drop-offs were late, for each active locker?"',
        'statement_file = "statement.md"\naliases = ["late"]\ninstructions = "instructions"',
    )
    write_files(sql_folder, {"statement.md": "One\r\n\n\n", "instructions/baseline.md": "Do it."})

    task = read_task_folder(sql_folder).task

    assert task.statement == "One\r\n\n"
    assert task.aliases == ("late",)
    assert task.released_instructions == {"baseline": "Do it."}


def test_files_that_are_elsewhere_are_named_with_their_digest(repository_folder: Path) -> None:
    edit(repository_folder, 'tree = "repository"\n', "")
    edit(
        repository_folder,
        "[gold]",
        '[[fetch]]\nrole = "image"\nname = "q.tar.zst"\nsource = "https://h.test/q"\n'
        'sha256 = "00"\nsize_bytes = 3\nimage = "q:1"\n[gold]',
    )
    shutil.rmtree(repository_folder / "repository")

    environment = read_task_folder(repository_folder).task.environment

    assert isinstance(environment, RepositoryEnvironment)
    assert environment.tree is None
    assert environment.image is not None
    assert environment.image.is_missing
    assert (environment.image.image, environment.image.size_bytes) == ("q:1", 3)


def test_a_task_without_an_answer_or_rules_is_still_a_task(sql_folder: Path) -> None:
    edit(sql_folder, '[gold]\nquery = "solution.sql"', "")
    edit(sql_folder, 'business_info = "business_info.txt"', 'business_info = ["Two\\nlines."]')

    task = read_task_folder(sql_folder).task

    assert task.gold == SqlGold(query=None)
    assert isinstance(task.environment, SqlEnvironment)
    assert task.environment.business_info == ("Two\nlines.",)


def test_all_folders_below_a_folder_are_found(tmp_path: Path) -> None:
    write_sql_task(tmp_path / "all" / "deep" / "b")
    write_repository_task(tmp_path / "all" / "a")

    found = [candidate.place for candidate in find_task_folders(tmp_path / "all")]

    assert [Path(place).parent.name for place in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("task/1", "task/9", "format: 'hil-mcp/task/9' is not a format"),
        ('kind = "sql"', 'kind = "prose"', "kind: 'prose' is none of sql, repository"),
        ('id = "lockers_late"', 'id = "../x"', "id: '../x' is no task id"),
        ('id = "lockers_late"', "id = 3", "id: is a number, a string is expected"),
        ('id = "lockers_late"', 'id = " "', "id: is empty"),
        ('id = "lockers_late"', "", "id: is missing"),
        ('kind = "sql"', 'kind = "sql"\nidd = "a"', "idd: is not a known key here"),
        ("database_name", "database_nam", "sql.database_name: is missing"),
        ("[sql]", "[sql]\nstyle = 1", "sql.style: is not a known key here"),
        ('"lockers.sqlite"', '"no.sqlite"', "sql.database: 'no.sqlite' is not a file in the"),
        ('"lockers.sqlite"', '"../x"', "sql.database: '../x' does not stay inside"),
        ('"lockers.sqlite"', '"/etc/hosts"', "sql.database: '/etc/hosts' does not stay inside"),
        ('database = "lockers.sqlite"', "", "sql.database: 0 databases are named"),
        ("[sql]", "[sq]", "sql: is missing"),
        ("kind =", "sql = 3\nkind =", "is not TOML"),
        ("kind =", "fetch = 3\nkind =", "fetch: is a number, a list of objects is expected"),
        ("[gold]", "[gold]\nqueri = 1", "gold.queri: is not a known key here"),
        ('type = "schema"', "type = 1", "blockers[1].type: is a number, a string is expected"),
        ('type = "schema"', 'typ = "schema"', "blockers[1].typ: is not a known key here"),
        ("statement =", "statement_file = 'solution.sql'\nstatement =", "statement_file: stands"),
        ("statement =", "statement ==", "is not TOML"),
        ("[[blockers]]", "[blockers]", "is not TOML"),
        ("[gold]", '[[fetch]]\nrole = "x"\nname = "n"\n[gold]', "fetch[0].role: 'x' is none of"),
        ("[gold]", "[[fetch]]\nsize_bytes = -1\n[gold]", "fetch[0].role: is missing"),
        ("[gold]", "fetch = 1\n[gold]", "sql.fetch: is not a known key here"),
    ],
)
def test_what_cannot_be_read_is_named_with_file_field_and_reason(
    sql_folder: Path, old: str, new: str, complaint: str
) -> None:
    edit(sql_folder, old, new)

    with pytest.raises(InvalidTaskError, match=re.escape(complaint)) as raised:
        read_task_folder(sql_folder)

    assert raised.value.place == str(sql_folder / "task.toml")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('tree = "repository"', "", "repository.tree: is missing, and no image"),
        ('tree = "repository"', 'tree = "task.toml"', "repository.tree: 'task.toml' is not a fo"),
        ("[gold]", '[gold]\ntest_patch = "solution.patch"', "gold.hidden_tests: stands beside"),
        ("fail_to_pass = [", "fail_to_pass = [1, ", "gold.fail_to_pass[0]: is a number"),
        ('["tests.test_retry.RetryTest.test_waits"]', '"all"', "gold.fail_to_pass: is a string"),
    ],
)
def test_a_repository_folder_is_checked_as_well(
    repository_folder: Path, old: str, new: str, complaint: str
) -> None:
    edit(repository_folder, old, new)

    with pytest.raises(InvalidTaskError, match=re.escape(complaint)):
        read_task_folder(repository_folder)


def test_bad_bytes_and_links_are_named(repository_folder: Path, sql_folder: Path) -> None:
    (sql_folder / "solution.sql").write_bytes(b"SELECT '\xff'")
    with pytest.raises(InvalidTaskError, match=r"solution.sql: is not UTF-8 at byte 8"):
        read_task_folder(sql_folder)

    (repository_folder / "hidden_tests" / "link").symlink_to("/etc/hosts")
    with pytest.raises(InvalidTaskError, match=r"link: is a link or a special file"):
        read_task_folder(repository_folder)


def test_a_folder_that_leads_out_by_a_link_is_refused(sql_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.sql").write_text("SELECT 2")
    (sql_folder / "solution.sql").unlink()
    (sql_folder / "solution.sql").symlink_to(tmp_path / "secret.sql")

    with pytest.raises(InvalidTaskError, match=r"gold\.query: 'solution.sql' does not stay inside"):
        read_task_folder(sql_folder)
