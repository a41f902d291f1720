"""The table of importers, and which of them a path is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from task_store.errors import InvalidTaskError
from task_store.sources.folder import TASK_FILE, find_task_folders
from task_store.sources.harbor import find_harbor_tasks, is_harbor
from task_store.sources.huggingface import ROW_SUFFIXES, find_rows, row_files
from task_store.sources.instances import FILE_NAME, find_instances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from task_store.sources.candidate import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One form in which tasks come.

    Attributes:
        form: What it is, for people.
        takes: Whether a path that exists has this form.
        find: The candidates at such a path.
    """

    form: str
    takes: Callable[[Path], bool]
    find: Callable[[Path], Iterator[Candidate]]


# First match wins: Harbor's mode folders hold a `task.toml` of their own.
IMPORTERS = (
    Importer(
        form="a Harbor checkout",
        takes=is_harbor,
        find=find_harbor_tasks,
    ),
    Importer(
        form=f"a folder with {TASK_FILE} in it or below it",
        takes=lambda path: path.is_dir() and any(path.rglob(TASK_FILE)),
        find=find_task_folders,
    ),
    Importer(
        form=FILE_NAME,
        takes=lambda path: path.suffix == ".json" and path.is_file(),
        find=find_instances,
    ),
    Importer(
        form="Hugging Face rows in .jsonl or .parquet",
        takes=lambda path: bool(row_files(path)) if path.is_dir() else path.suffix in ROW_SUFFIXES,
        find=find_rows,
    ),
)


def find_candidates(path: Path) -> Iterator[Candidate]:
    """Everything at `path` that should be a task.

    Raises:
        InvalidTaskError: Nothing is there, or nothing that can be imported.
    """
    if not path.exists():
        raise InvalidTaskError(str(path), "", "is not there")
    for importer in IMPORTERS:
        if importer.takes(path):
            return importer.find(path)
    forms = "; ".join(importer.form for importer in IMPORTERS)
    raise InvalidTaskError(str(path), "", f"holds no tasks in a form that is known here: {forms}")
