"""Which of the tests that ran is the test that a task requires.

Names come in four forms: `file.py::Class::function[parameters]` (pytest), `file.test.ts | title`
(JavaScript), `TestName` (Go) and `module.Class.method` (unittest). A required name is looked for as
it is first; then, where it has a file, under a longer or shorter path to it with the same rest. Two
runs of one name must both have passed, and so must every variant of a parametrised test whose name
is required without parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

RunStatus = Literal["passed", "failed", "skipped"]
RequiredStatus = Literal["passed", "failed", "skipped", "missing"]

_WORDS: dict[str, RunStatus] = {
    "ok": "passed",
    "pass": "passed",
    "passed": "passed",
    "xfail": "passed",
    "expected failure": "passed",
    "skip": "skipped",
    "skipped": "skipped",
}
_TITLE_MARK = " | "
_PART_MARK = "::"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTest:
    """One test as the runner reported it."""

    name: str
    status: RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredTest:
    """One test that a task requires, and what was found of it."""

    name: str
    status: RequiredStatus
    found_as: tuple[str, ...] = ()
    """The reported names that stand for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    file: str
    """Empty for forms without a file."""
    rest: str
    """Class and function, or the title, without parameters."""
    parameters: str | None


def status_of(word: str) -> RunStatus:
    """What a runner's word for a result means; a word that is not known is a failure."""
    return _WORDS.get(word.strip().lower(), "failed")


def find_required(name: str, ran: Sequence[RunTest]) -> RequiredTest:
    """Find one required test among those that ran.

    Args:
        name: As the task gives it.
        ran: Everything that the runner reported.

    Returns:
        `passed` only when all that stands for it passed.
    """
    wanted = _parsed(name)
    exact = [t for t in ran if name and (t.name == name or _is_variant(wanted, _parsed(t.name)))]
    found = exact or [t for t in ran if wanted.file and _is_elsewhere(wanted, _parsed(t.name))]
    return RequiredTest(
        name=name, status=_together(found), found_as=tuple(dict.fromkeys(t.name for t in found))
    )


def passes_released_check(name: str, ran: Sequence[RunTest]) -> bool:
    """Whether the release's own command-line grader takes a required test as passed.

    It compares the last part of a name only, without file, class, parameters and case, and the
    last report wins (docs/release.md, section 6).
    """
    last = [t for t in ran if name and _released_key(t.name) == _released_key(name)]
    return bool(last) and last[-1].status == "passed"


def _together(found: Sequence[RunTest]) -> RequiredStatus:
    statuses = {t.status for t in found}
    if not statuses:
        return "missing"
    if "failed" in statuses:
        return "failed"
    return "skipped" if "skipped" in statuses else "passed"


def _parsed(name: str) -> _Name:
    if _TITLE_MARK in name:
        file, _, title = name.partition(_TITLE_MARK)
        return _Name(file=file, rest=title, parameters=None)
    file, mark, rest = name.partition(_PART_MARK)
    if not mark:
        return _Name(file="", rest=name, parameters=None)
    # Parameters may hold any text, the marks included.
    function, bracket, parameters = rest.partition("[")
    if bracket and parameters.endswith("]"):
        return _Name(file=file, rest=function, parameters=parameters[:-1])
    return _Name(file=file, rest=rest, parameters=None)


def _is_variant(wanted: _Name, other: _Name) -> bool:
    """Whether `other` is `wanted`, which is named without parameters, with some."""
    same_test = (wanted.file, wanted.rest) == (other.file, other.rest)
    return bool(wanted.file) and same_test and wanted.parameters is None


def _is_elsewhere(wanted: _Name, other: _Name) -> bool:
    if wanted.rest != other.rest or not other.file:
        return False
    if wanted.parameters is not None and wanted.parameters != other.parameters:
        return False
    return _ends_with(wanted.file, other.file) or _ends_with(other.file, wanted.file)


def _ends_with(path: str, ending: str) -> bool:
    return path == ending or path.endswith("/" + ending)


def _released_key(name: str) -> str:
    if _TITLE_MARK in name:
        return name.rpartition(_TITLE_MARK)[2].strip().casefold()
    parsed = _parsed(name)
    return parsed.rest.rpartition(_PART_MARK)[2].casefold()
