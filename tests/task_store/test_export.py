"""Export writes our own folders, and an import of one gives the same task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from task_store import (
    Artefact,
    Blocker,
    BlockerId,
    Registry,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
    TaskId,
    TaskStore,
)
from task_store.errors import ExportError
from task_store.export import export_task
from task_store.sources.folder import read_task_folder
from task_store.sources.harbor import find_harbor_tasks
from task_store.starter_pack import StarterPack
from tests.task_store.folders import write_repository_task, write_sql_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
FULL = TEXT.filter(lambda text: bool(text.strip()))


@pytest.fixture
def store(home: Path, tmp_path: Path) -> TaskStore:
    return TaskStore(home, starter=StarterPack(tmp_path / "no-starter"))


@pytest.mark.parametrize("write", [write_sql_task, write_repository_task])
def test_an_exported_task_comes_back_with_its_files(
    store: TaskStore, tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    imported = read_task_folder(write(tmp_path / "own"))
    store.add(replace(imported.task, aliases=("other",)), imported.files)
    task = store.get("other")

    folder = export_task(store, task, tmp_path / "out")

    again = read_task_folder(folder)
    assert again.task.digest == task.digest
    assert again.task.aliases == ("other",)
    assert store.add(again.task, again.files) == "unchanged"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [task.task_id]


def test_what_is_not_here_is_named_for_fetching(store: TaskStore, tmp_path: Path) -> None:
    image = Artefact(
        role="image", name="q.tar.zst", source="hf://buckets/a/b/q", sha256="0" * 64, image="q:1"
    )
    environment = RepositoryEnvironment(repository="a/b", language="go", image=image)
    task = Task(
        task_id=TaskId("swe_0"),
        statement="Line one\nline two\n",
        registry=Registry(blockers=()),
        environment=environment,
        gold=RepositoryGold(
            patch=None, test_patch="diff\n", fail_to_pass=("T",), run_script_path="/root/run.sh"
        ),
        source="harbor",
        released_instructions={"baseline": "Do\r\nit"},
    )
    store.add(task)

    again = read_task_folder(export_task(store, store.get("swe_0"), tmp_path)).task

    assert again.environment == environment
    assert again.digest == task.digest
    assert again.gold == task.gold
    assert again.released_instructions == task.released_instructions


def test_a_folder_that_is_there_is_left_alone(store: TaskStore, tmp_path: Path) -> None:
    imported = read_task_folder(write_sql_task(tmp_path / "lockers_late"))
    store.add(imported.task, imported.files)

    with pytest.raises(ExportError, match=r"lockers_late: is there already"):
        export_task(store, store.get("lockers_late"), tmp_path)


def test_a_place_that_cannot_be_written_is_named(store: TaskStore, tmp_path: Path) -> None:
    imported = read_task_folder(write_sql_task(tmp_path / "lockers_late"))
    store.add(imported.task, imported.files)

    with pytest.raises(ExportError, match=r"cannot be written: Not a directory"):
        export_task(store, store.get("lockers_late"), tmp_path / "lockers_late" / "task.toml")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    statement=FULL,
    rules=st.lists(FULL, max_size=3),
    query=TEXT,
    texts=st.tuples(FULL, FULL, FULL),
    kind=st.none() | FULL,
)
def test_every_text_survives_export_and_import(
    tmp_path: Path,
    statement: str,
    rules: list[str],
    query: str,
    texts: tuple[str, str, str],
    kind: str | None,
) -> None:
    store = TaskStore(tmp_path / "home", starter=StarterPack(tmp_path / "no-starter"))
    description, resolution, example = texts
    blocker = Blocker(
        blocker_id=BlockerId("a"),
        description=description,
        resolution=resolution,
        example_questions=(f"What: {example}",),
        type=kind,
    )
    task = Task(
        task_id=TaskId("t"),
        statement=statement,
        registry=Registry(blockers=(blocker,)),
        environment=SqlEnvironment(
            database_name="d",
            database=Artefact(role="database", name="d.sqlite", source="https://h.test/d"),
            business_info=tuple(rules),
        ),
        gold=SqlGold(query=query, result_csv=query),
        source="folder",
    )

    folder = export_task(store, task, tmp_path / task.digest)

    assert read_task_folder(folder).task == task
    for file in sorted(folder.parent.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()


def test_shared_tasks_survive_export_and_import(
    store: TaskStore, tmp_path: Path, shared_dir: Path
) -> None:
    for candidate in list(find_harbor_tasks(shared_dir / "hil-bench"))[::8]:
        imported = candidate.load()
        store.add(imported.task, imported.files)
        task = store.get(imported.task.task_id)
        assert task == imported.task

        folder = export_task(store, task, tmp_path / "out")

        assert read_task_folder(folder).task.digest == task.digest, task.task_id
