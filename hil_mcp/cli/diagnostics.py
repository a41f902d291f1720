"""Diagnostics: where log records go, and what of an exception may be seen on stderr.

An agent may be able to read the stderr of `serve`, and an exception's message may hold a
resolution: stderr gets the type and the place, a file in `HIL_MCP_HOME` the whole traceback.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_ERRORS_DIR = "errors"


class _PlaceOnlyFormatter(logging.Formatter):
    """Names an exception's type and where it was raised, never its message."""

    def formatException(  # the name is logging's
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        kind, _, trace = ei
        frames = traceback.extract_tb(trace)
        place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        return f"{kind.__name__ if kind else 'exception'}{place}"


class _TracebackFiles(logging.Handler):
    """Keeps the whole traceback of each logged exception in a file of its own."""

    def __init__(self, home: Path) -> None:
        super().__init__(logging.ERROR)
        self._home = home

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            try:
                keep_traceback(self._home, record.exc_info[1])
            except OSError:
                self.handleError(record)


def set_up(home: Path) -> None:
    """Send records to stderr and tracebacks to `home`.

    Called before the MCP SDK is imported: its constructor installs a root handler of its own.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_PlaceOnlyFormatter("%(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler, _TracebackFiles(home)]
    root.setLevel(logging.WARNING)
    logging.raiseExceptions = False


def keep_traceback(home: Path, error: BaseException) -> Path:
    """Write a traceback to a file and give its path.

    Raises:
        OSError: It cannot be written.
    """
    folder = home / _ERRORS_DIR
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}.txt"
    path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    return path
