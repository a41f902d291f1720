"""The writer of a session log: one writer, whole lines, on disk before the reply leaves.

`seq` and the hash chain advance only with what is on disk: a line that could not be written whole,
or not be synced, is cut off again and the call that it records fails.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from pydantic_core import PydanticSerializationError

from hil_mcp.errors import HilMcpError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hil_mcp.events import EventBody


class LogLockedError(HilMcpError):
    """Another process writes to this log."""


class LogWriteError(HilMcpError):
    """An event could not be put on disk; nothing of it is left in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHead:
    """The end of the chain; stored in `attempt.json`, out of the agent's reach, at each close."""

    seq: int
    """Number of the last event, -1 for an empty log."""
    sha256: str
    """Digest of the last line without its newline; empty for an empty log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """Where the log of a server that died goes on.

    Attributes:
        head: The last whole line.
        whole_bytes: Length of the log up to there.
        torn_bytes: Length of what a crash left behind it, cut off when the log is opened.
    """

    head: LogHead
    whole_bytes: int
    torn_bytes: int


EMPTY_HEAD = LogHead(seq=-1, sha256="")


def utc_now() -> datetime:
    """The time that events carry."""
    return datetime.now(UTC)


class SessionLog:
    """Appends events to one file. Not to be shared by threads.

    Methods block until the disk has the event. They are called on the event loop all the same: a
    hop to a worker thread and back costs as much as the sync, and every reply waits for its own.
    """

    def __init__(
        self,
        path: Path,
        *,
        resumed: ResumePoint | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Take the log's lock and open it for appending.

        Args:
            path: The log; its folder is made, readable by its owner only.
            resumed: Where a log that was read before goes on; None for a new one.
            now: The clock.

        Raises:
            LogLockedError: Another process holds the lock, or wrote after the log was read.
        """
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = path
        self._now = now
        self._lock = FileLock(f"{path}.lock", timeout=0, mode=0o600, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout as exc:
            raise LogLockedError(f"{path}: another server writes to this log") from exc
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        point = resumed or ResumePoint(head=EMPTY_HEAD, whole_bytes=0, torn_bytes=0)
        if os.fstat(self._file).st_size != point.whole_bytes + point.torn_bytes:
            os.close(self._file)
            self._lock.release()
            raise LogLockedError(f"{path}: another server wrote to this log")
        os.ftruncate(self._file, point.whole_bytes)
        self._synced_length = self._length = point.whole_bytes
        self._synced_head = self._head = point.head

    @property
    def head(self) -> LogHead:
        """The last event that is on disk."""
        return self._synced_head

    def append(self, *bodies: EventBody, durable: bool = True) -> None:
        """Write events as whole lines, in order.

        Args:
            bodies: The events.
            durable: Wait until they are on disk. An event that records no reply may be left to
                the next durable one: it survives the death of the process either way.

        Raises:
            LogWriteError: The disk did not take them. The log ends where it was last synced.
        """
        try:
            for body in bodies:
                self._write(body)
            if durable:
                os.fsync(self._file)
                self._synced_length, self._synced_head = self._length, self._head
        except OSError as exc:
            self._cut_back()
            raise LogWriteError(f"{self.path}: cannot be written: {exc.strerror}") from exc

    def close(self) -> None:
        """Sync what is left and give the lock back. The log can be resumed afterwards."""
        try:
            os.fsync(self._file)
            self._synced_length, self._synced_head = self._length, self._head
        finally:
            os.close(self._file)
            self._lock.release()

    def discard(self) -> None:
        """Give the lock back and leave nothing behind, for a session that never began.

        The folder goes too, when nothing else is in it.
        """
        self.close()
        self.path.unlink(missing_ok=True)
        Path(self._lock.lock_file).unlink(missing_ok=True)
        with suppress(OSError):  # not empty: it is not this session's alone
            self.path.parent.rmdir()

    def _write(self, body: EventBody) -> None:
        line = encode_line(
            body, seq=self._head.seq + 1, prev=self._head.sha256, timestamp=self._now()
        )
        data = line + b"\n"
        if os.write(self._file, data) != len(data):
            raise OSError(0, "short write", str(self.path))
        self._length += len(data)
        self._head = LogHead(seq=self._head.seq + 1, sha256=hashlib.sha256(line).hexdigest())

    def _cut_back(self) -> None:
        os.ftruncate(self._file, self._synced_length)
        self._length, self._head = self._synced_length, self._synced_head


def encode_line(body: EventBody, *, seq: int, prev: str, timestamp: datetime) -> bytes:
    """One event as a line of JSON, without its newline."""
    stamp = timestamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = f'{{"seq":{seq},"ts":"{stamp}","event":"{body.event}","prev":"{prev}"'
    try:
        rest = body.model_dump_json(by_alias=True)
    except PydanticSerializationError:
        # A lone surrogate in what the agent sent: UTF-8 has no form for it, JSON's escapes have.
        rest = json.dumps(body.model_dump(by_alias=True), separators=(",", ":"), allow_nan=False)
    return f"{head},{rest.removeprefix('{')}".encode()
