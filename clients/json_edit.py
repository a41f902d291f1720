"""Change one member of a JSON text and leave every other byte alone.

Comments, order, trailing commas, indentation and line ends stay. What is put in is laid out as the
text around it is; taking it out again gives the text as it was, except where an empty object was
spread over lines.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from clients.json_tree import JsonSyntaxError, Member, Node, find, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_INDENT = re.compile(r"\n([ \t]+)[\"/]")
_LINE_START = re.compile(r"(?:\r\n|\n)[ \t]*\Z")


def has_member(text: str, path: Sequence[str]) -> bool:
    """Whether there is a member at the end of that path of keys.

    Raises:
        JsonSyntaxError: The text is no JSON.
    """
    return _member(text, path) is not None


def is_empty_object(text: str, path: Sequence[str]) -> bool:
    """Whether an object with nothing in it, not even a comment, stands at that path.

    Raises:
        JsonSyntaxError: The text is no JSON.
    """
    found = _member(text, path)
    value = found[1].value if found else None
    return value is not None and not text[value.start : value.end].strip("{} \t\r\n")


def set_member(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    """Put a member in, or replace the value of the one that is there.

    Args:
        text: JSON with or without comments; an empty text counts as an empty object.
        path: Keys from the top; objects on the way are made.
        value: What the member is to have.

    Raises:
        JsonSyntaxError: The text is no JSON, or something on the way is no object.
    """
    root = parse(text)
    if root is None:
        ending = _newline(text)
        lead = text if not text or text.endswith(("\n", "\ufeff")) else text + ending
        return lead + _laid_out(_nested(path, value), "", text) + ending
    node = root
    for depth, key in enumerate(path):
        if node.members is None:
            raise JsonSyntaxError(text, node.start, "an object is expected here")
        member = find(node, key)
        if member is None:
            return _insert(text, node, key, _nested(path[depth + 1 :], value))
        if depth == len(path) - 1:
            indent = _indent_at(text, member.start)
            new = _laid_out(value, indent, text)
            return text[: member.value.start] + new + text[member.value.end :]
        node = member.value
    return text


def remove_member(text: str, path: Sequence[str]) -> str:
    """Take a member out; a text without it stays as it is.

    Raises:
        JsonSyntaxError: The text is no JSON.
    """
    found = _member(text, path)
    if found is None:
        return text
    parent, member = found
    members = parent.members or ()
    index = members.index(member)
    line_start = _LINE_START.search(text[: member.start])
    start = line_start.start() if line_start else member.start
    if member.comma is not None and line_start is None:
        if index == len(members) - 1 and index > 0:
            return text[:start].rstrip(" \t") + text[member.end :]
        return text[:start] + text[member.end :].lstrip(" \t")
    if member.comma is not None or index == 0:
        return _without(text, parent, start, member.end)
    previous = members[index - 1]
    comma = previous.comma or start
    if line_start is None:
        between = text[comma + 1 : start]
        start = comma + 1 if not between.strip() else start
    return text[:comma] + text[comma + 1 : start] + text[member.value.end :]


def _member(text: str, path: Sequence[str]) -> tuple[Node, Member] | None:
    node = parse(text)
    found: tuple[Node, Member] | None = None
    for key in path:
        member = find(node, key) if node is not None else None
        if node is None or member is None:
            return None
        found = node, member
        node = member.value
    return found


def _without(text: str, parent: Node, start: int, end: int) -> str:
    inside = text[parent.start + 1 : start] + text[end : parent.end - 1]
    if not inside.strip():
        return f"{text[: parent.start]}{{}}{text[parent.end :]}"
    return text[:start] + text[end:]


def _insert(text: str, node: Node, key: str, value: Mapping[str, object]) -> str:
    members = node.members or ()
    body = text[node.start : node.end]
    if members and "\n" not in body:
        last = members[-1]
        new = f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        if last.comma is None:
            return f"{text[: last.value.end]}, {new}{text[last.value.end :]}"
        return f"{text[: last.end]} {new},{text[last.end :]}"
    newline = _newline(text)
    outer = _indent_at(text, node.start)
    indent = _indent_at(text, members[0].start) if members else outer + _unit(text)
    new = f"{newline}{indent}{json.dumps(key, ensure_ascii=False)}: "
    new += _laid_out(value, indent, text)
    # Behind whatever stands last in the object, a comment too.
    position = node.start + len(text[node.start : node.end - 1].rstrip())
    if not members:
        tail = text[position : node.end - 1]
        new += "" if "\n" in tail else newline + outer
        return text[:position] + new + text[position:]
    last = members[-1]
    if last.comma is not None:
        return f"{text[:position]}{new},{text[position:]}"
    end = last.value.end
    return f"{text[:end]},{text[end:position]}{new}{text[position:]}"


def _nested(path: Sequence[str], value: Mapping[str, object]) -> Mapping[str, object]:
    for key in reversed(path):
        value = {key: value}
    return value


def _laid_out(value: Mapping[str, object], indent: str, text: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _indent_at(text: str, position: int) -> str:
    """The blanks at the start of the line that holds a position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]
