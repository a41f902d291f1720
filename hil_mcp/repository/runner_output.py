"""What test runners print, read back: for tasks whose image has no parser of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hil_mcp.repository.go_runner import read_go
from hil_mcp.repository.javascript_runners import read_jest, read_tap
from hil_mcp.repository.python_runners import read_pytest, read_unittest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hil_mcp.repository.test_names import RunTest

    _Reader = Callable[[Sequence[str]], Iterator[RunTest]]

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_JAVASCRIPT = (read_jest, read_tap)
_READERS: dict[str, tuple[_Reader, ...]] = {
    "python": (read_unittest, read_pytest),
    "go": (read_go,),
    "js": _JAVASCRIPT,
    "ts": _JAVASCRIPT,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
}


def read_runner_output(language: str, text: str) -> tuple[RunTest, ...]:
    """Read the tests that ran from a runner's stdout and stderr.

    Args:
        language: The task's; `python`, `go`, `javascript`, `typescript`, `js` or `ts`.
        text: All that the runner printed.

    Returns:
        One entry for each report of a test, in order; a test may be reported twice.
    """
    lines = _ANSI.sub("", text).replace("\r\n", "\n").split("\n")
    return tuple(test for reader in _READERS.get(language, ()) for test in reader(lines))
