"""What jest `--verbose` and TAP writers such as `node --test` print, read back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hil_mcp.repository.test_names import RunStatus, RunTest, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_JEST_FILE = re.compile(r"^\s*(?:PASS|FAIL)\s+(?:\S+:\s+)?(\S+\.[cm]?[jt]sx?)(?:\s|$)")
_JEST_LINE = re.compile(r"^(\s+)(?:(✓|√|✕|\u00d7|○|✎) )?(\S.*?)(?: \([\d.,]+ m?s\))?$")
_JEST_MARKS: dict[str, RunStatus] = {
    "✓": "passed",
    "√": "passed",
    "○": "skipped",
    "✎": "skipped",
}


def read_jest(lines: Sequence[str]) -> Iterator[RunTest]:
    """Reports of jest, named `file | describe title`."""
    file = ""
    titles: list[tuple[int, str]] = []  # indent and title of each open describe block
    for line in lines:
        if header := _JEST_FILE.match(line):
            file, titles = header[1], []
            continue
        match = _JEST_LINE.match(line)
        # After a failure's bullet comes its report, which may look like anything.
        if not file or match is None or match[3].startswith("●"):
            if line.strip():
                file = ""
            continue
        indent, mark, title = len(match[1]), match[2], match[3]
        titles = [(depth, text) for depth, text in titles if depth < indent]
        if mark is None:
            titles.append((indent, title))
            continue
        title = title.removeprefix({"○": "skipped ", "✎": "todo "}.get(mark, ""))
        words = " ".join([*(text for _, text in titles), title])
        yield RunTest(name=f"{file} | {words}", status=_JEST_MARKS.get(mark, "failed"))


_TAP_LINE = re.compile(r"^(\s*)(not ok|ok) \d+(?: - (.*?))?(?: # (SKIP|TODO)\b.*)?$", re.IGNORECASE)
_TAP_SUBTEST = re.compile(r"^(\s*)# Subtest: (.*)$")


def read_tap(lines: Sequence[str]) -> Iterator[RunTest]:
    """Results of TAP, named by the titles from the outermost in."""
    titles: list[tuple[int, str]] = []
    for line in lines:
        if begun := _TAP_SUBTEST.match(line):
            indent = len(begun[1])
            titles = [(depth, text) for depth, text in titles if depth < indent]
            titles.append((indent, begun[2]))
        elif match := _TAP_LINE.match(line):
            indent = len(match[1])
            words = [text for depth, text in titles if depth < indent]
            name = " ".join([*words, match[3] or ""])
            skipped = (match[4] or "").upper() == "SKIP"
            yield RunTest(name=name, status="skipped" if skipped else status_of(match[2]))
