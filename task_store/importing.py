"""The loop over the tasks of a source: each comes in whole or not at all, the others go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from task_store.errors import CatalogueError, TaskStoreError
from task_store.sources.importers import find_candidates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from task_store.records import TaskId
    from task_store.sources.candidate import Candidate
    from task_store.store import AddOutcome, TaskStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What came of one candidate: `error` is None exactly when it is in the catalogue."""

    place: str
    task_id: TaskId | None = None
    outcome: AddOutcome | None = None
    warnings: tuple[str, ...] = ()
    error: TaskStoreError | None = None


def import_tasks(
    store: TaskStore, path: Path, *, prefix: str | None = None
) -> Iterator[ImportResult]:
    """Import everything at `path`.

    Args:
        store: Takes the tasks.
        path: In any form that `sources.importers` knows.
        prefix: Put before every id with an underscore, against collisions.

    Yields:
        One result for each candidate, in order.

    Raises:
        TaskStoreError: The path itself cannot be read, or the catalogue cannot be written.
    """
    for candidate in find_candidates(path):
        yield _import_one(store, candidate, prefix)


def _import_one(store: TaskStore, candidate: Candidate, prefix: str | None) -> ImportResult:
    try:
        imported = candidate.load()
        if prefix is not None:
            imported = imported.under(prefix)
        outcome = store.add(imported.task, imported.files)
    except CatalogueError:
        # The catalogue's own trouble: the next task would meet it too.
        raise
    except TaskStoreError as exc:
        return ImportResult(place=candidate.place, error=exc)
    return ImportResult(
        place=candidate.place,
        task_id=imported.task.task_id,
        outcome=outcome,
        warnings=imported.task.warnings,
    )
