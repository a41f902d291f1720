"""JSON with comments and trailing commas, read into a tree that knows where everything stands.

Agents' configuration files are edited by people. To change one place and leave every other byte
alone, an editor needs positions; no kept-up library for Python gives them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

MAX_DEPTH = 100

_TRIVIA = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_DECODER = json.JSONDecoder()


class JsonSyntaxError(ValueError):
    """The text is no JSON, comments and trailing commas allowed.

    Attributes:
        line: From 1.
        column: From 1.
        problem: What was found or missed.
    """

    def __init__(self, text: str, position: int, problem: str) -> None:
        before = text[:position]
        self.line = before.count("\n") + 1
        self.column = position - (before.rfind("\n") + 1) + 1
        self.problem = problem
        super().__init__(f"line {self.line}, column {self.column}: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value, and the span of text that it takes."""

    start: int
    end: int
    members: tuple[Member, ...] | None = None
    """Of an object, in order; None for every other value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A key and its value."""

    key: str
    start: int
    """Where the key begins, its quote included."""
    value: Node
    comma: int | None
    """Where the comma behind it stands."""

    @property
    def end(self) -> int:
        """Behind the comma, or behind the value where there is none."""
        return self.value.end if self.comma is None else self.comma + 1


def parse(text: str) -> Node | None:
    """Read a text.

    Returns:
        The top value; None where the text has nothing but blanks and comments.

    Raises:
        JsonSyntaxError: It is no JSON.
    """
    reader = _Reader(text)
    start = reader.skip(0)
    if start == len(text):
        return None
    node = reader.value(start, 0)
    rest = reader.skip(node.end)
    if rest != len(text):
        raise JsonSyntaxError(text, rest, "something follows the end of the document")
    return node


def find(node: Node, key: str) -> Member | None:
    """The member of an object with that key: of several the last, as parsers have it."""
    return next((member for member in reversed(node.members or ()) if member.key == key), None)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, position: int) -> int:
        """The next position that is neither blank nor comment."""
        found = _TRIVIA.match(self._text, position)
        return found.end() if found else position

    def value(self, position: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise JsonSyntaxError(self._text, position, f"nested deeper than {MAX_DEPTH}")
        match self._text[position : position + 1]:
            case "{":
                return self._object(position, depth)
            case "[":
                return self._array(position, depth)
            case '"':
                return Node(start=position, end=self._string(position)[1])
            case _:
                found = _SCALAR.match(self._text, position)
                if found is None:
                    raise JsonSyntaxError(self._text, position, "a value is missing")
                return Node(start=position, end=found.end())

    def _object(self, start: int, depth: int) -> Node:
        members: list[Member] = []
        position = self.skip(start + 1)
        while not self._is("}", position):
            if members and members[-1].comma is None:
                raise JsonSyntaxError(self._text, position, '"," or "}" is missing')
            if not self._is('"', position):
                raise JsonSyntaxError(self._text, position, 'a key in quotes or "}" is missing')
            key, end = self._string(position)
            colon = self.skip(end)
            if not self._is(":", colon):
                raise JsonSyntaxError(self._text, colon, '":" is missing')
            value = self.value(self.skip(colon + 1), depth + 1)
            comma = self._comma(value.end)
            members.append(Member(key=key, start=position, value=value, comma=comma))
            position = self.skip(members[-1].end if comma is not None else value.end)
        return Node(start=start, end=position + 1, members=tuple(members))

    def _array(self, start: int, depth: int) -> Node:
        position = self.skip(start + 1)
        needs_comma = False
        while not self._is("]", position):
            if needs_comma:
                raise JsonSyntaxError(self._text, position, '"," or "]" is missing')
            value = self.value(position, depth + 1)
            comma = self._comma(value.end)
            needs_comma = comma is None
            position = self.skip(value.end if comma is None else comma + 1)
        return Node(start=start, end=position + 1)

    def _is(self, character: str, position: int) -> bool:
        return self._text.startswith(character, position)

    def _comma(self, position: int) -> int | None:
        comma = self.skip(position)
        return comma if self._is(",", comma) else None

    def _string(self, position: int) -> tuple[str, int]:
        try:
            decoded, end = _DECODER.raw_decode(self._text, position)
        except json.JSONDecodeError as exc:
            raise JsonSyntaxError(self._text, exc.pos, exc.msg.lower()) from exc
        return str(decoded), end
