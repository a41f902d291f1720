"""What `judge eval` and `judge pairs` read: tasks of the catalogue, and files to be left alone."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from judge.verdict import RegistryView
    from task_store.store import TaskStore


def registry_of_task(store: TaskStore) -> Callable[[str], RegistryView | None]:
    """The registry of each task of a catalogue, each read once; None for a task it has not."""
    from task_store.errors import UnknownTaskError

    @cache
    def registry_of(task: str) -> RegistryView | None:
        try:
            return store.get(task).registry
        except UnknownTaskError:
            return None

    return registry_of


def refuse_an_input(option: str, output: Path, *inputs: Path | None) -> None:
    """Refuse to write a result over a file that it is made from.

    Raises:
        ConfigError: The output is one of the inputs, by whatever path.
    """
    for path in inputs:
        if path is None or not path.exists():
            continue
        if output.exists() and output.samefile(path):
            raise ConfigError(f"{option} {output}: would overwrite an input, {path}: name another")
