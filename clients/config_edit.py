"""What putting a server into a configuration text, or taking it out, makes of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from clients import json_edit, toml_edit
from clients.errors import ConfigFileError
from clients.json_tree import JsonSyntaxError
from clients.toml_edit import TomlSyntaxError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clients.client import ConfigTarget


_Result = TypeVar("_Result")


def has_server(target: ConfigTarget, text: str, name: str) -> bool:
    """Whether a server of that name is there.

    Raises:
        ConfigFileError: The text cannot be parsed.
    """
    return _translated(target, lambda: _has(target, text, (*target.keys, name)))


def with_server(target: ConfigTarget, text: str, name: str, entry: Mapping[str, object]) -> str:
    """The text with the server put in, or replaced.

    Raises:
        ConfigFileError: The text cannot be parsed.
    """
    path = (*target.keys, name)
    change = json_edit.set_member if target.format == "json" else toml_edit.set_table
    return _translated(target, lambda: change(text, path, entry))


def without_server(target: ConfigTarget, text: str, name: str, *, before: str) -> str:
    """The text with the server taken out, and with it what was made only to hold it.

    Args:
        target: The place.
        text: The text as it is.
        name: The server's name.
        before: The text before the server was put in; tables that it has are left, even if empty.

    Raises:
        ConfigFileError: The text cannot be parsed.
    """
    take_out = json_edit.remove_member if target.format == "json" else toml_edit.remove_table

    def change() -> str:
        left = take_out(text, (*target.keys, name))
        for depth in range(len(target.keys), 0, -1):
            path = target.keys[:depth]
            if _has(target, before, path) or not _is_empty(target, left, path):
                break
            left = take_out(left, path)
        return left

    return _translated(target, change)


def _has(target: ConfigTarget, text: str, path: tuple[str, ...]) -> bool:
    has = json_edit.has_member if target.format == "json" else toml_edit.has_table
    return has(text, path)


def _is_empty(target: ConfigTarget, text: str, path: tuple[str, ...]) -> bool:
    is_empty = json_edit.is_empty_object if target.format == "json" else toml_edit.is_empty_table
    return is_empty(text, path)


def _translated(target: ConfigTarget, change: Callable[[], _Result]) -> _Result:
    try:
        return change()
    except (JsonSyntaxError, TomlSyntaxError) as exc:
        raise ConfigFileError(
            f"{target.path}: is not changed, since it cannot be read as {target.format}: {exc}; "
            "mend it first"
        ) from exc
