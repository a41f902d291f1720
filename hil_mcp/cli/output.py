"""Results on stdout: a table for people, one JSON document for machines."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 120  # columns; a table must not lose text because nobody watches it


def print_json(document: object) -> None:
    """Print one JSON document; every command does so under `--json`."""
    json.dump(document, sys.stdout, ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write("\n")
    sys.stdout.flush()


def console() -> Console:
    """A console on stdout as it is now; wide and plain where it is not a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(file=sys.stdout, highlight=False, width=width)


def remark(text: str) -> None:
    """Print a remark on stderr, where it does not disturb the result."""
    print(text, file=sys.stderr, flush=True)
