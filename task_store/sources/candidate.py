"""What an importer finds before it reads, and what it gives when it has read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from task_store.records import Task, TaskId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from task_store.fields import Fields

_TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTask:
    """A task as its source gives it, with the files that came along.

    Attributes:
        task: The task; its artefacts are still without `stored_sha256`.
        files: Artefact name -> content, for the artefacts that are there.
    """

    task: Task
    files: Mapping[str, Path | bytes] = field(default_factory=dict["str", "Path | bytes"])

    def under(self, prefix: str) -> ImportedTask:
        """The same task with `prefix` and an underscore before its id and its aliases."""
        task_id = TaskId(f"{prefix}_{self.task.task_id}")
        aliases = tuple(f"{prefix}_{alias}" for alias in self.task.aliases)
        return replace(self, task=replace(self.task, task_id=task_id, aliases=aliases))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that should be a task.

    Attributes:
        place: File or folder, or file and line, as shown to the user.
        load: Reads it; raises `InvalidTaskError` where it cannot be read as a task.
    """

    place: str
    load: Callable[[], ImportedTask]


def task_id_of(fields: Fields, key: str) -> TaskId:
    """The value of `key` as a task id: it becomes a folder's name and part of a command."""
    return checked_task_id(fields, key, fields.text(key))


def checked_task_id(fields: Fields, key: str, text: str) -> TaskId:
    """`text`, which comes from `key`, as a task id.

    Raises:
        InvalidTaskError: It holds something else than letters, digits, `_`, `-` and `.`.
    """
    if _TASK_ID.fullmatch(text) is None:
        fields.fail(key, f'{text!r} is no task id: letters, digits, "_", "-" and "." only')
    return TaskId(text)
