"""One place turns errors into exit statuses."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from clients.errors import ClientError, UnknownClientError, UnsupportedError
from hil_mcp.errors import ConfigError, DataError, SandboxError
from judge.errors import JudgeError, JudgeUsageError, PairsError
from task_store.errors import TaskStoreError, UnknownTaskError

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExitStatus(IntEnum):
    """What the process ends with."""

    DONE = 0
    OURS = 1
    USAGE = 2
    DATA = 3
    JUDGE = 4
    PROGRAM = 5
    INTERRUPTED = 130


# First match wins, so a class stands before its parent.
_STATUS: tuple[tuple[type[BaseException], ExitStatus], ...] = (
    (KeyboardInterrupt, ExitStatus.INTERRUPTED),
    (UnknownTaskError, ExitStatus.USAGE),
    (ConfigError, ExitStatus.USAGE),
    (TaskStoreError, ExitStatus.DATA),
    (DataError, ExitStatus.DATA),
    (JudgeUsageError, ExitStatus.USAGE),
    (PairsError, ExitStatus.DATA),
    (JudgeError, ExitStatus.JUDGE),
    (SandboxError, ExitStatus.PROGRAM),
    (UnknownClientError, ExitStatus.USAGE),
    (UnsupportedError, ExitStatus.USAGE),
    (ClientError, ExitStatus.PROGRAM),
)

# A batch does the rest and ends with the worst, in this order.
_WORST_FIRST = (
    ExitStatus.INTERRUPTED,
    ExitStatus.OURS,
    ExitStatus.PROGRAM,
    ExitStatus.JUDGE,
    ExitStatus.DATA,
    ExitStatus.USAGE,
)


def status_of(error: BaseException) -> ExitStatus:
    """The exit status that an error ends the process with; `OURS` when it is nobody else's."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), ExitStatus.OURS)


def worst(statuses: Iterable[ExitStatus]) -> ExitStatus:
    """The status that a batch ends with."""
    seen = set(statuses)
    return next((status for status in _WORST_FIRST if status in seen), ExitStatus.DONE)
