"""The tasks that ship in the package: read from their folders, without an import."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from task_store.artefact_folder import measure
from task_store.records import Artefact, RepositoryEnvironment, SqlEnvironment, Task
from task_store.sources.folder import TASK_FILE, read_task_folder

if TYPE_CHECKING:
    from task_store.artefact_folder import ArtefactFolder
    from task_store.sources.candidate import ImportedTask

SOURCE = "starter"
_SHIPPED_DIR = Path(__file__).parent / "starter"


class StarterPack:
    """Task folders that are served where they lie.

    Args:
        folder: One folder a task, named by the task's id.
    """

    def __init__(self, folder: Path = _SHIPPED_DIR) -> None:
        self._folder = folder

    def get(self, task_id: str) -> Task | None:
        """The task with this id, read from its own folder alone; None if none ships."""
        if Path(task_id).name != task_id or not (self._folder / task_id / TASK_FILE).is_file():
            return None
        return _in_place(read_task_folder(self._folder / task_id, source=SOURCE))

    def tasks(self) -> list[Task]:
        """All of them, by id."""
        ids = sorted(file.parent.name for file in self._folder.glob(f"*/{TASK_FILE}"))
        return [task for task in map(self.get, ids) if task is not None]

    def artefact_path(self, artefact: Artefact, files: ArtefactFolder) -> Path | None:
        """The shipped file of an artefact; a source tree is packed into `files` first.

        Returns:
            None when the artefact does not ship in the package.
        """
        if artefact.source is None or not Path(artefact.source).is_relative_to(self._folder):
            return None
        path = Path(artefact.source)
        return files.path_of(files.add(path).sha256) if path.is_dir() else path


def _in_place(imported: ImportedTask) -> Task:
    """The task with its artefacts pointing at the files of the package."""
    task = imported.task
    match task.environment:
        case SqlEnvironment() as sql:
            environment: SqlEnvironment | RepositoryEnvironment = replace(
                sql,
                database=_located(sql.database, imported),
                descriptions=tuple(_located(a, imported) for a in sql.descriptions),
            )
        case RepositoryEnvironment(tree=tree) as repository:
            environment = replace(
                repository, tree=None if tree is None else _located(tree, imported)
            )
    return replace(task, environment=environment)


def _located(artefact: Artefact, imported: ImportedTask) -> Artefact:
    content = imported.files[artefact.name]
    stored = measure(content)
    return replace(
        artefact,
        source=str(content),
        stored_sha256=stored.sha256,
        size_bytes=stored.size_bytes,
    )
