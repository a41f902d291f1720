"""Typed access to a mapping from outside, which names file and field in every complaint.

The importers read JSON, TOML and rows through it, so that what lies below the edge is checked.
"""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, NoReturn, cast

from task_store.errors import InvalidTaskError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Fields:
    """One object of a file.

    Args:
        values: The object as parsed; never changed.
        place: File, or file and line, as shown to the user.
        at: Dotted path of this object in the file; empty for the whole.
    """

    def __init__(self, values: Mapping[str, object], *, place: str, at: str = "") -> None:
        self._values = values
        self._seen: set[str] = set()
        self.place = place
        self.at = at

    def path_of(self, key: str) -> str:
        """Dotted path of a key, as errors name it."""
        return f"{self.at}.{key}" if self.at else key

    def fail(self, key: str, reason: str) -> NoReturn:
        """Refuse the value of `key`; an empty key refuses the whole object."""
        raise InvalidTaskError(self.place, self.path_of(key) if key else self.at, reason)

    def has(self, key: str) -> bool:
        """Whether `key` is there and not null."""
        return self._values.get(key) is not None

    def raw(self, key: str) -> object:
        """The value as parsed, unchecked; None when absent."""
        self._seen.add(key)
        return self._values.get(key)

    def optional_text(self, key: str) -> str | None:
        """A string, or None when absent or null."""
        value = self.raw(key)
        if value is None:
            return None
        return self._text(key, value)

    def text(self, key: str) -> str:
        """A string with something in it."""
        value = self.optional_text(key)
        if value is None:
            self.fail(key, "is missing")
        if not value.strip():
            self.fail(key, "is empty")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty when absent or null."""
        value = self.raw(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.fail(key, f"is {kind_of(value)}, a list of strings is expected")
        return tuple(
            self._text(f"{key}[{number}]", item)
            for number, item in enumerate(cast("list[object]", value))
        )

    def integer(self, key: str) -> int | None:
        """A whole number from 0, or None when absent or null."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.fail(key, "is not a whole number from 0")
        return value

    def optional_table(self, key: str) -> Fields | None:
        """An object, or None when absent or null."""
        value = self.raw(key)
        return None if value is None else self._table(key, value)

    def table(self, key: str) -> Fields:
        """An object."""
        found = self.optional_table(key)
        if found is None:
            self.fail(key, "is missing")
        return found

    def tables(self, key: str) -> tuple[Fields, ...]:
        """A list of objects; empty when absent or null."""
        value = self.raw(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.fail(key, f"is {kind_of(value)}, a list of objects is expected")
        return tuple(
            self._table(f"{key}[{number}]", item)
            for number, item in enumerate(cast("list[object]", value))
        )

    def refuse_unknown(self) -> None:
        """Refuse keys that nobody has asked for, so that a typing mistake is not lost."""
        for key in self._values:
            if key not in self._seen:
                known = ", ".join(sorted(self._seen))
                self.fail(key, f"is not a known key here; known: {known}")

    def _text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            self.fail(key, f"is {kind_of(value)}, a string is expected")
        if not is_unicode(value):
            self.fail(key, "holds half of a surrogate pair, which is not valid Unicode")
        return value

    def _table(self, key: str, value: object) -> Fields:
        if not isinstance(value, dict):
            self.fail(key, f"is {kind_of(value)}, an object is expected")
        return Fields(cast("dict[str, object]", value), place=self.place, at=self.path_of(key))


def is_unicode(text: str) -> bool:
    """Whether `text` can be written as UTF-8; JSON escapes can hold half of a pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def kind_of(value: object) -> str:
    """What a parsed value is, in the words of its format."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def read_text(path: Path) -> str:
    """The UTF-8 text of a file, with its line ends as they are.

    Raises:
        InvalidTaskError: The file is missing, unreadable or not UTF-8.
    """
    return read_bytes(path, decode=True).decode("utf-8")


def read_bytes(path: Path, *, decode: bool = False) -> bytes:
    """The bytes of a file; with `decode`, checked to be UTF-8.

    Raises:
        InvalidTaskError: The file is missing or unreadable, or not UTF-8.
    """
    try:
        content = path.read_bytes()
        if decode:
            content.decode("utf-8")
    except FileNotFoundError as exc:
        raise InvalidTaskError(str(path), "", "is missing") from exc
    except UnicodeDecodeError as exc:
        raise InvalidTaskError(str(path), "", f"is not UTF-8 at byte {exc.start}") from exc
    except OSError as exc:
        raise InvalidTaskError(str(path), "", f"cannot be read: {exc.strerror}") from exc
    return content


def read_json(path: Path) -> object:
    """The JSON value in a file.

    Raises:
        InvalidTaskError: Missing, unreadable or not JSON.
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as exc:
        raise InvalidTaskError(
            f"{path}:{exc.lineno}", "", f"is not JSON: {exc.msg.lower()}"
        ) from exc
    except RecursionError as exc:
        raise InvalidTaskError(str(path), "", "is nested too deeply") from exc


def read_json_object(path: Path) -> Fields:
    """The JSON object in a file.

    Raises:
        InvalidTaskError: As `read_json`, or the value is not an object.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise InvalidTaskError(str(path), "", f"is {kind_of(value)}, an object is expected")
    return Fields(cast("dict[str, object]", value), place=str(path))


def read_toml(path: Path) -> Fields:
    """The TOML document in a file.

    Raises:
        InvalidTaskError: Missing, unreadable or not TOML.
    """
    text = read_text(path)
    try:
        return Fields(tomllib.loads(text), place=str(path))
    except tomllib.TOMLDecodeError as exc:
        raise InvalidTaskError(str(path), "", f"is not TOML: {exc}") from exc
