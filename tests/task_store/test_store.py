"""The catalogue: versions, collisions, files, and what it does to a catalogue it cannot read."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from task_store import (
    ArtefactMismatchError,
    CatalogueError,
    InvalidTaskError,
    MissingArtefactError,
    SqlEnvironment,
    TaskCollisionError,
    TaskId,
    TaskStore,
    UnknownTaskError,
)
from task_store.artefact_folder import StoredFile, measure
from task_store.sources.candidate import ImportedTask
from task_store.sources.folder import read_task_folder
from task_store.starter_pack import StarterPack
from tests.task_store.folders import write_repository_task, write_sql_task


@pytest.fixture
def store(home: Path, tmp_path: Path) -> TaskStore:
    return TaskStore(home, starter=StarterPack(tmp_path / "no-starter"))


@pytest.fixture
def sql_task(tmp_path: Path) -> ImportedTask:
    return read_task_folder(write_sql_task(tmp_path / "lockers_late"))


def dump(store: TaskStore) -> list[str]:
    with closing(sqlite3.connect(store.catalogue_path)) as db:
        return list(db.iterdump())


def test_a_task_comes_back_as_it_went_in(store: TaskStore, sql_task: ImportedTask) -> None:
    store.add(sql_task.task, sql_task.files)

    found = store.get("lockers_late")

    assert found.digest == sql_task.task.digest
    assert found.registry == sql_task.task.registry
    assert found.gold == sql_task.task.gold
    assert [store.artefact_path(a).read_bytes() for a in found.artefacts] == [
        Path(str(content)).read_bytes() for content in sql_task.files.values()
    ]


def test_the_same_task_again_changes_nothing(store: TaskStore, sql_task: ImportedTask) -> None:
    assert store.add(sql_task.task, sql_task.files) == "added"
    before = dump(store)

    assert store.add(sql_task.task, sql_task.files) == "unchanged"

    assert dump(store) == before


def test_versions_are_kept_and_the_last_import_is_current(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    first = sql_task.task
    second = replace(first, statement="How many drop-offs were early?")
    store.add(first, sql_task.files)

    assert store.add(second, sql_task.files) == "new version"

    assert store.get("lockers_late").statement == second.statement
    assert store.get("lockers_late", digest=first.digest).statement == first.statement
    assert len(store.list()) == 1
    assert set(store.versions(TaskId("lockers_late"))) == {first.digest, second.digest}
    assert store.add(first, sql_task.files) == "updated"
    assert store.get("lockers_late").statement == first.statement


def test_an_unknown_id_or_version_says_where_to_look(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    with pytest.raises(UnknownTaskError, match=r"'sql-17'.*hil-mcp tasks list"):
        store.get("sql-17")
    store.add(sql_task.task)
    with pytest.raises(UnknownTaskError, match="in version 0123"):
        store.get("lockers_late", digest="0123")


def test_an_alias_finds_its_task(store: TaskStore, sql_task: ImportedTask) -> None:
    store.add(replace(sql_task.task, aliases=("public_lockers", "lockers_late")))

    assert store.get("public_lockers").task_id == "lockers_late"


@pytest.mark.parametrize("name", ["lockers_late", "public_lockers"])
def test_an_id_of_another_source_is_refused(
    store: TaskStore, sql_task: ImportedTask, name: str
) -> None:
    store.add(replace(sql_task.task, aliases=("public_lockers",)))
    task_id = TaskId(name if name == "lockers_late" else "other")
    other = replace(
        sql_task.task, source="harbor", statement="Else?", task_id=task_id, aliases=(name,)
    )

    with pytest.raises(TaskCollisionError, match=rf"{name}.*folder.*--as PREFIX"):
        store.add(other)

    assert [summary.source for summary in store.list()] == ["folder"]
    store.add(ImportedTask(task=other).under("mine").task)
    assert store.get(f"mine_{name}").statement == "Else?"


def test_the_same_task_by_another_way_is_no_collision(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    store.add(sql_task.task)
    again = replace(sql_task.task, source="harbor")

    assert store.add(again) == "unchanged"
    assert store.add(again, sql_task.files) == "updated"

    assert store.list()[0].source == "folder"
    assert store.list()[0].missing == ()


def test_a_missing_file_is_listed_and_names_the_command(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    store.add(sql_task.task, {"locker.csv": b"id\n"})

    task = store.get("lockers_late")

    assert store.list()[0].missing == ("lockers.sqlite", "table_descriptions.csv")
    with pytest.raises(MissingArtefactError, match=r'"hil-mcp tasks fetch lockers_late"'):
        store.artefact_path(task.artefacts[0], task_id=task.task_id)


def test_a_fetched_file_stays_through_the_next_import(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    store.add(sql_task.task)
    task = store.get("lockers_late")
    fetched = store.catalogue_path.with_name("fetched")
    fetched.write_bytes(b"a database")
    store.adopt(task, task.artefacts[0], fetched, measure(fetched))

    assert store.add(sql_task.task) == "unchanged"

    found = store.get("lockers_late")
    assert store.artefact_path(found.artefacts[0]).read_bytes() == b"a database"
    assert found.digest == task.digest


def test_a_file_that_somebody_deleted_is_missing_again(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    store.add(sql_task.task, sql_task.files)
    store.artefact_path(store.get("lockers_late").artefacts[0]).unlink()

    assert store.get("lockers_late").artefacts[0].is_missing
    assert store.list()[0].missing == ("lockers.sqlite",)


def test_a_file_with_another_digest_than_published_is_refused(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    assert isinstance(sql_task.task.environment, SqlEnvironment)
    published = replace(sql_task.task.environment.database, sha256="0" * 64)
    task = replace(
        sql_task.task, environment=replace(sql_task.task.environment, database=published)
    )

    with pytest.raises(ArtefactMismatchError, match=r"lockers.sqlite: its SHA-256 is"):
        store.add(task, sql_task.files)

    assert store.list() == []


def test_a_repository_is_packed_the_same_each_time(store: TaskStore, tmp_path: Path) -> None:
    first = read_task_folder(write_repository_task(tmp_path / "a" / "queue_retry"))
    second = read_task_folder(write_repository_task(tmp_path / "b" / "queue_retry"))
    (tmp_path / "b" / "queue_retry" / "repository" / "__pycache__").mkdir()

    assert store.add(first.task, first.files) == "added"
    assert store.add(second.task, second.files) == "unchanged"


def test_a_starter_task_needs_no_import(home: Path, tmp_path: Path) -> None:
    write_sql_task(tmp_path / "starter" / "lockers_late")
    write_repository_task(tmp_path / "starter" / "queue_retry")
    store = TaskStore(home, starter=StarterPack(tmp_path / "starter"))

    sql, repository = store.get("lockers_late"), store.get("queue_retry")

    assert (sql.source, repository.source) == ("starter", "starter")
    shipped = tmp_path / "starter" / "lockers_late" / "lockers.sqlite"
    assert store.artefact_path(sql.artefacts[0]) == shipped
    assert store.artefact_path(repository.artefacts[0]).is_relative_to(home)
    assert [s.task_id for s in store.list()] == ["lockers_late", "queue_retry"]
    assert not store.catalogue_path.exists()
    with pytest.raises(UnknownTaskError):
        store.get("../lockers_late")
    with pytest.raises(UnknownTaskError):
        store.get("lockers_late", digest="0123")


def test_a_starter_id_is_not_taken_by_another_task(home: Path, tmp_path: Path) -> None:
    write_sql_task(tmp_path / "starter" / "lockers_late")
    store = TaskStore(home, starter=StarterPack(tmp_path / "starter"))
    own = read_task_folder(tmp_path / "starter" / "lockers_late")

    assert store.add(own.task, own.files) == "unchanged"
    with pytest.raises(TaskCollisionError, match="starter"):
        store.add(replace(own.task, statement="Else?"))

    assert [summary.source for summary in store.list()] == ["starter"]


def test_tasks_are_listed_in_natural_order(store: TaskStore, sql_task: ImportedTask) -> None:
    for name in ("sql_10", "sql_2", "queue"):
        store.add(replace(sql_task.task, task_id=TaskId(name)))

    assert [summary.task_id for summary in store.list()] == ["queue", "sql_2", "sql_10"]


def test_a_catalogue_of_a_newer_version_is_refused(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    store.add(sql_task.task)
    with closing(sqlite3.connect(store.catalogue_path)) as db:
        db.execute("PRAGMA user_version = 99")

    for act in (store.list, lambda: store.get("lockers_late"), lambda: store.add(sql_task.task)):
        with pytest.raises(CatalogueError, match=r"catalogue.db has catalogue version 99.*upgrade"):
            act()


def test_an_empty_catalogue_file_is_brought_up_to_date(store: TaskStore) -> None:
    store.catalogue_path.parent.mkdir(parents=True)
    store.catalogue_path.touch()

    assert store.list() == []

    with closing(sqlite3.connect(store.catalogue_path)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] > 0


def test_a_file_that_is_no_catalogue_is_named(store: TaskStore, sql_task: ImportedTask) -> None:
    store.catalogue_path.parent.mkdir(parents=True)
    store.catalogue_path.write_text("This is not a database, and long enough to be seen as none.")

    with pytest.raises(CatalogueError, match=r"catalogue.db: file is not a database"):
        store.list()
    with pytest.raises(CatalogueError, match=r"catalogue.db: file is not a database"):
        store.add(sql_task.task)


def test_a_write_that_fails_half_way_leaves_nothing(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    store.add(replace(sql_task.task, task_id=TaskId("first")))
    with closing(sqlite3.connect(store.catalogue_path)) as db:
        db.execute(
            "CREATE TRIGGER full AFTER INSERT ON artefacts WHEN new.name = 'lockers.sqlite' "
            "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
        db.commit()
    before = dump(store)

    with pytest.raises(CatalogueError, match="the disk is full"):
        store.add(sql_task.task)

    assert dump(store) == before


def test_a_writer_that_was_killed_is_undone_by_the_next_reader(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    store.add(sql_task.task)
    program = (
        "import os, sqlite3\n"
        f"db = sqlite3.connect({str(store.catalogue_path)!r})\n"
        "db.execute('PRAGMA cache_size = 1')\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "db.execute('UPDATE tasks SET document = ?', ('x' * 100_000,))\n"
        "rows = [(str(n), 't') for n in range(9999)]\n"
        "db.executemany('INSERT INTO aliases VALUES (?, ?)', rows)\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    assert store.catalogue_path.with_name("catalogue.db-journal").stat().st_size > 0

    assert store.get("lockers_late").digest == sql_task.task.digest


def test_two_imports_at_once_both_come_in(store: TaskStore, sql_task: ImportedTask) -> None:
    def add(number: int) -> str:
        return store.add(replace(sql_task.task, task_id=TaskId(f"t_{number}")), sql_task.files)

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(add, range(12)))

    assert outcomes == ["added"] * 12
    assert len(store.list()) == 12


def test_a_file_that_cannot_be_read_is_the_tasks_fault(
    store: TaskStore, sql_task: ImportedTask, tmp_path: Path
) -> None:
    files = {**sql_task.files, "lockers.sqlite": tmp_path / "gone"}

    with pytest.raises(InvalidTaskError, match=r"gone: cannot be read: No such file"):
        store.add(sql_task.task, files)

    assert store.list() == []


@pytest.mark.parametrize("is_there", [False, True])
def test_the_catalogue_and_the_files_are_for_their_user_alone(
    store: TaskStore, sql_task: ImportedTask, home: Path, *, is_there: bool
) -> None:
    if is_there:
        home.mkdir(mode=0o755)

    store.add(sql_task.task, sql_task.files)

    private = [store.catalogue_path, store.files.root, *([] if is_there else [home])]
    assert [path.stat().st_mode & 0o077 for path in private] == [0] * len(private)


def test_reading_one_task_does_without_sqlite_utils(
    store: TaskStore, sql_task: ImportedTask
) -> None:
    store.add(sql_task.task)
    program = (
        "import sys, pathlib, task_store\n"
        f"task_store.TaskStore(pathlib.Path({str(store.catalogue_path.parent)!r}))"
        ".get('lockers_late')\n"
        "print([m for m in ('sqlite_utils', 'rich', 'pydantic', 'httpx') if m in sys.modules])"
    )

    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert shown.stdout.decode().strip() == "[]"


def test_pruning_keeps_what_a_version_names(store: TaskStore, sql_task: ImportedTask) -> None:
    store.add(sql_task.task, sql_task.files)
    store.add(
        replace(sql_task.task, statement="Else?"), {**sql_task.files, "lockers.sqlite": b"new"}
    )
    store.files.add(b"nobody's")
    (store.files.root / "incoming-x").write_bytes(b"half")

    first = store.prune()
    old = store.prune(old_versions=True)

    assert (first.versions, first.files, first.freed_bytes) == (0, 1, len(b"nobody'shalf"))
    assert (old.versions, old.files) == (1, 1)
    assert store.list()[0].missing == ()
    assert store.versions(TaskId("lockers_late")) == [store.get("lockers_late").digest]


def test_a_removed_task_leaves_nothing(store: TaskStore, sql_task: ImportedTask) -> None:
    store.add(replace(sql_task.task, aliases=("late",)), sql_task.files)

    store.remove(TaskId("lockers_late"))
    store.prune()

    assert store.list() == []
    assert store.files.digests() == set()
    with pytest.raises(UnknownTaskError):
        store.get("late")


def test_pruning_before_any_import_makes_nothing(store: TaskStore) -> None:
    assert store.prune().files == 0
    assert not store.catalogue_path.parent.exists()


@pytest.mark.parametrize("name", ["..", "a/b", "", "locker.csv"])
def test_a_file_name_that_leads_elsewhere_is_refused(
    store: TaskStore, sql_task: ImportedTask, name: str
) -> None:
    assert isinstance(sql_task.task.environment, SqlEnvironment)
    database = replace(sql_task.task.environment.database, name=name)
    environment = replace(sql_task.task.environment, database=database)

    with pytest.raises(InvalidTaskError, match="lockers_late: artefacts: "):
        store.add(replace(sql_task.task, environment=environment))


def test_adding_a_file_twice_keeps_one_copy(store: TaskStore) -> None:
    first, second = store.files.add(b"same"), store.files.add(b"same")

    assert first == second == StoredFile(sha256=first.sha256, size_bytes=4)
    kept = [path for path in store.files.root.rglob("*") if path.is_file()]
    assert kept == [store.files.path_of(first.sha256)]
