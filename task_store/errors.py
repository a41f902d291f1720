"""Errors of the task store.

TaskStoreError
├── UnknownTaskError        no task has that id or alias
├── InvalidTaskError        a task's files cannot be read as a task
├── TaskCollisionError      the id belongs to a task from another source
├── MissingArtefactError    a database or image is not on this machine yet
├── ArtefactMismatchError   a fetched file has another size or digest than published
├── MissingExtraError       a form that needs a package which is not installed
├── FetchError              a file could not be fetched
├── ExportError             a task folder could not be written
└── CatalogueError          the catalogue itself cannot be opened or is from a newer version
"""

from __future__ import annotations


class TaskStoreError(Exception):
    """Root of what the task store raises. Its message never holds a resolution."""


class UnknownTaskError(TaskStoreError):
    """No task of the catalogue has this id or alias, or none in the version asked for."""

    def __init__(self, task_id: str, digest: str | None = None) -> None:
        version = "" if digest is None else f" in version {digest[:12]}"
        super().__init__(f'unknown task {task_id!r}{version}: see "hil-mcp tasks list"')
        self.task_id = task_id
        self.digest = digest


class InvalidTaskError(TaskStoreError):
    """A task cannot be read: names the file, the field and the reason.

    Attributes:
        place: File, or file and line, as given by the user.
        field: Dotted path of the field, such as `blockers[1].id`; empty for the whole file.
        reason: One clause without a final full stop.
    """

    def __init__(self, place: str, field: str, reason: str) -> None:
        super().__init__(f"{place}: {field}: {reason}" if field else f"{place}: {reason}")
        self.place = place
        self.field = field
        self.reason = reason


class TaskCollisionError(TaskStoreError):
    """The id is taken by a task from another source."""


class MissingArtefactError(TaskStoreError):
    """A file that the task needs is not here; the message names the command that fetches it."""


class ArtefactMismatchError(TaskStoreError):
    """A file's size or SHA-256 is not the published one."""


class CatalogueError(TaskStoreError):
    """The catalogue cannot be opened, or a newer version of hil-mcp wrote it."""


class MissingExtraError(TaskStoreError):
    """A file's form needs a package of an extra that is not installed."""

    def __init__(self, place: str, *, extra: str) -> None:
        super().__init__(
            f'{place}: needs the extra "{extra}": pip install "hil-mcp[{extra}]", '
            "or give the rows as JSON Lines"
        )
        self.place = place
        self.extra = extra


class FetchError(TaskStoreError):
    """A file could not be fetched: names the address and what went wrong there."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address}: {reason}")
        self.address = address
        self.reason = reason


class ExportError(TaskStoreError):
    """A task folder could not be written: names it and the way out."""
