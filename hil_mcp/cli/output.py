"""Results on stdout: a table for people, one JSON document for machines.

What is printed may hold anything that a model or a task wrote, and stdout may be anything: a
terminal that knows ASCII alone, a full disk, a pipe that nobody reads any more, nothing at all.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 120  # columns; a table must not lose text because nobody watches it


def open_stdout() -> None:
    """Make stdout take any text: called once, before anything is printed.

    What its encoding cannot hold is written as a backslash escape, and what could not be written
    stays held, whatever PYTHONUNBUFFERED says, so that `failure_of_stdout` finds it.
    """
    old = sys.stdout
    if old is None or old is not sys.__stdout__ or not isinstance(old, io.TextIOWrapper):
        return  # closed, or somebody else's
    sys.stdout = open(  # noqa: SIM115  # for the process's life; it has no path
        old.fileno(),
        "w",
        buffering=1 if old.line_buffering or old.write_through else -1,
        encoding=old.encoding,
        errors="backslashreplace",
        closefd=False,
    )


def failure_of_stdout() -> OSError | None:
    """Write out what stdout still holds; why it cannot be written, or None when it can."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as exc:
        return exc
    return None


def give_up_stdout() -> None:
    """Let what stdout still holds go nowhere: the end of the process would try it once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def print_json(document: object) -> None:
    """Print one JSON document; every command does so under `--json`."""
    if sys.stdout is None:
        return
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # half of a surrogate pair, or a terminal that knows ASCII alone
        text = json.dumps(document, indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def console() -> Console:
    """A console on stdout as it is now; wide and plain where it is not a terminal."""
    from rich.console import Console

    class Stdout(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the entry point, as with every other stdout that fails."""
            raise  # rich calls this while it handles the error

    file = io.StringIO() if sys.stdout is None else sys.stdout
    width = None if file.isatty() else _PIPE_WIDTH
    return Stdout(file=file, highlight=False, width=width)


def remark(text: str) -> None:
    """Print a remark on stderr, where it does not disturb the result."""
    print(text, file=sys.stderr, flush=True)
