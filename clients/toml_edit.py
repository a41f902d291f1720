"""Change one table of a TOML text and leave every other byte alone.

A table is put in as a block of lines at the end, and taken out as one, since tomlkit alone moves
blank lines about. Every change is checked by reading both texts; where lines will not do (tables
on one line, dotted keys), tomlkit makes the change.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence


_HEADER = re.compile(r"[ \t]*\[(?P<name>[^\[\]]+)\]")
_BYTE_ORDER_MARK = "\ufeff"


class TomlSyntaxError(ValueError):
    """The text is no TOML, or no table can stand at that path; names the place."""


def has_table(text: str, path: Sequence[str]) -> bool:
    """Whether there is something at that path of keys.

    Raises:
        TomlSyntaxError: The text is no TOML.
    """
    return _at(text, path) is not None


def is_empty_table(text: str, path: Sequence[str]) -> bool:
    """Whether a table with nothing in it stands at that path.

    Raises:
        TomlSyntaxError: The text is no TOML.
    """
    return _at(text, path) == {}


def set_table(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    """Put a table in, or replace the one that is there.

    Args:
        text: TOML; it may be empty.
        path: Keys from the top.
        value: Strings, numbers, booleans, lists of them, and mappings, which become inline tables.

    Raises:
        TomlSyntaxError: The text is no TOML, or something else stands at the path.
    """
    wanted = _read(text)
    _put(wanted, path, value)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = tomlkit.dumps(_document(path, value)).replace("\n", newline)
    candidates = [text[:start] + block + text[end:] for start, end in _spans(text, path)]
    if not text.strip(_BYTE_ORDER_MARK):
        candidates.append(text + block)
    else:
        candidates.append(text + (newline if text.endswith("\n") else newline * 2) + block)
    return _first_good(candidates, wanted) or _by_tomlkit(
        text, wanted, lambda document: _put(document, path, _items(value))
    )


def remove_table(text: str, path: Sequence[str]) -> str:
    """Take a table out; a text without it stays as it is.

    Raises:
        TomlSyntaxError: The text is no TOML.
    """
    if not has_table(text, path):
        return text
    wanted = _read(text)
    _drop(wanted, path)
    candidates = [
        re.sub(r"(?<=\n)[ \t]*\r?\n\Z", "", text[:start]) + text[end:]
        for start, end in _spans(text, path)
    ]
    # A table of tables that only this header made goes with it.
    alone = {key: item for key, item in wanted.items() if key != path[0] or item != {}}
    good = _first_good(candidates, wanted)
    good = _first_good(candidates, alone) if good is None else good
    if good is not None:
        return good
    return _by_tomlkit(text, wanted, lambda document: _drop(document, path))


def _first_good(candidates: Sequence[str], wanted: Mapping[str, object]) -> str | None:
    return next((text for text in candidates if _reads_as(text, wanted)), None)


def _read(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except tomllib.TOMLDecodeError as exc:
        raise TomlSyntaxError(str(exc).lower()) from exc


def _at(text: str, path: Sequence[str]) -> object:
    node: object = _read(text)
    for key in path:
        node = _child(node, key)
    return node


def _child(node: object, key: str) -> object:
    return cast("dict[str, object]", node).get(key) if isinstance(node, dict) else None


def _reads_as(text: str, wanted: Mapping[str, object]) -> bool:
    try:
        return _read(text) == wanted
    except TomlSyntaxError:
        return False


def _put(document: MutableMapping[str, object], path: Sequence[str], value: object) -> None:
    node = document
    for key in path[:-1]:
        child = node.setdefault(key, {})
        if not isinstance(child, dict):
            raise TomlSyntaxError(f"{key} is not a table")
        node = cast("MutableMapping[str, object]", child)
    node[path[-1]] = value


def _drop(document: MutableMapping[str, object], path: Sequence[str]) -> None:
    node = document
    for key in path[:-1]:
        node = cast("MutableMapping[str, object]", node[key])
    del node[path[-1]]


def _spans(text: str, path: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the lines of a table may stand: its header's first, blank and comment lines after not.

    A line of a long string may look like a header, so each is a guess to be checked.
    """
    start: int | None = None
    end = position = 0
    for line in text.splitlines(keepends=True):
        found = _HEADER.match(line)
        names = [part.strip(" \t\"'") for part in found["name"].split(".")] if found else None
        if start is not None and names is not None and names[: len(path)] != list(path):
            yield start, end
            start = None
        if names == list(path):
            start = position
        position += len(line)
        if line.strip() and not line.lstrip().startswith("#"):
            end = position
    if start is not None:
        yield start, end


def _document(path: Sequence[str], value: Mapping[str, object]) -> tomlkit.TOMLDocument:
    table = tomlkit.table()
    for key, item in _items(value).items():
        table[key] = item
    document = tomlkit.document()
    for key in reversed(path[1:]):
        parent = tomlkit.table(is_super_table=True)
        parent[key] = table
        table = parent
    document[path[0]] = table
    return document


def _items(value: Mapping[str, object]) -> dict[str, object]:
    items: dict[str, object] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            inline = tomlkit.inline_table()
            for name, part in cast("dict[str, object]", item).items():
                inline[name] = part
            items[key] = inline
        else:
            items[key] = item
    return items


def _by_tomlkit(
    text: str, wanted: Mapping[str, object], change: Callable[[MutableMapping[str, object]], None]
) -> str:
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    try:
        document = tomlkit.parse(text.removeprefix(mark))
        change(cast("MutableMapping[str, object]", document))
        changed = mark + tomlkit.dumps(document)
    except (TOMLKitError, ValueError) as exc:
        raise TomlSyntaxError(f"it cannot be changed: {exc}") from exc
    if not _reads_as(changed, wanted):
        raise TomlSyntaxError("it cannot be changed without touching something else")
    return changed
