"""What `go test -v` and `go test -json` print, read back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, cast

from hil_mcp.repository.test_names import RunTest, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GO_LINE = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(")


def read_go(lines: Sequence[str]) -> Iterator[RunTest]:
    """Reports of `go test -v` or `-json`; subtests are `Name/sub`."""
    for line in lines:
        if match := _GO_LINE.match(line):
            yield RunTest(name=match[2], status=status_of(match[1]))
        elif line.startswith("{") and (test := _go_event(line)) is not None:
            yield test


def _go_event(line: str) -> RunTest | None:
    try:
        event: object = json.loads(line)
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    fields = cast("dict[str, object]", event)
    name, action = fields.get("Test"), fields.get("Action")
    if not isinstance(name, str) or action not in ("pass", "fail", "skip"):
        return None
    return RunTest(name=name, status=status_of(str(action)))
