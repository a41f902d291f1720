"""What unittest `-v` and pytest `-v` or `-rA` print, read back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hil_mcp.repository.test_names import RunStatus, RunTest, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_UNITTEST_NAME = re.compile(r"(?:^\s*|\.\.\. )(\w+) \(([\w.]+)\)(?: \(.*\)| \[.*\])?(?= \.\.\. |$)")
_UNITTEST_END = re.compile(
    r"(?:^|\.\.\. )(ok|FAIL|ERROR|expected failure|unexpected success|skipped)(?: ['\"].*)?$"
)
_UNITTEST_DETAIL = re.compile(r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)")


def read_unittest(lines: Sequence[str]) -> Iterator[RunTest]:
    """Reports of unittest, named `module.Class.method`."""
    # A docstring or a test's own output may stand between a name and its result.
    name = ""
    for line in lines:
        if detail := _UNITTEST_DETAIL.match(line):
            yield RunTest(name=_unittest_name(detail), status="failed")
            name = ""
            continue
        # Before Python 3.11 a test with failed subtests ends without a word and without a line end.
        for begun in _UNITTEST_NAME.finditer(line):
            name = _unittest_name(begun)
        if name and (end := _UNITTEST_END.search(line)):
            yield RunTest(name=name, status=status_of(end[1]))
            if not line.startswith("  "):  # results of subtests are indented; more may follow
                name = ""


def _unittest_name(match: re.Match[str]) -> str:
    method, place = match[1], match[2]
    # Before Python 3.11 the method is not repeated in the brackets.
    return place if place.endswith("." + method) else f"{place}.{method}"


_PYTEST_WORDS = "PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS"
_PYTEST_LINE = re.compile(rf"^(\S+?\.py::.+?) ({_PYTEST_WORDS})(?: \(.*\))?(?:\s+\[\s*\d+%\])?$")
_PYTEST_SUMMARY = re.compile(
    rf"^(?:\[gw\d+\] \[\s*\d+%\] )?({_PYTEST_WORDS}) (\S+?\.py::.+?)(?: - .*)?$"
)


def read_pytest(lines: Sequence[str]) -> Iterator[RunTest]:
    """Reports of pytest, named by their node ids."""
    for line in lines:
        if match := _PYTEST_LINE.match(line):
            yield RunTest(name=match[1], status=_pyteststatus_of(match[2]))
        elif match := _PYTEST_SUMMARY.match(line):
            yield RunTest(name=match[2], status=_pyteststatus_of(match[1]))


def _pyteststatus_of(word: str) -> RunStatus:
    return "passed" if word == "XPASS" else status_of(word)
