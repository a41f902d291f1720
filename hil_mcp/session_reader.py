"""The reader of a session log: checks the chain, forgives what a crash leaves, refuses the rest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, cast

from pydantic import ValidationError

from hil_mcp.errors import DataError
from hil_mcp.events import EVENT_TYPES, SCHEMA, EventBody, SessionEnd, SessionStart
from hil_mcp.session_log import EMPTY_HEAD, LogHead

if TYPE_CHECKING:
    from pathlib import Path

_SCHEMA_NAME, _SCHEMA_MAJOR = SCHEMA.rsplit("/", 1)
_COMMON = ("seq", "ts", "event", "prev")

_Body = TypeVar("_Body", bound=EventBody)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """One event with its place in the log."""

    seq: int
    ts: datetime
    body: EventBody


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """What one log says.

    Attributes:
        start: The session's first event.
        warnings: What was forgiven, in words that name the line.
        unknown_events: Events of a name that this version does not know, skipped.
        duplicate_events: Lines that stood twice, counted once.
        skipped_lines: Unreadable lines, skipped because the caller asked for it.
        torn: A last line that a crash cut short.
        whole_bytes: Length of the log up to its last whole line.
    """

    path: Path
    start: SessionStart
    events: tuple[LoggedEvent, ...]
    head: LogHead
    warnings: tuple[str, ...] = ()
    unknown_events: int = 0
    duplicate_events: int = 0
    skipped_lines: int = 0
    torn: bytes = b""
    whole_bytes: int = 0

    def of(self, kind: type[_Body]) -> list[_Body]:
        """The bodies of one type, in order."""
        return [event.body for event in self.events if isinstance(event.body, kind)]

    @property
    def is_ended(self) -> bool:
        """Whether the server closed the session; a crash leaves it open."""
        return bool(self.events) and isinstance(self.events[-1].body, SessionEnd)


def read_session(path: Path, *, skip_bad_lines: bool = False) -> SessionRecord:
    """Read one session log.

    Args:
        path: The log.
        skip_bad_lines: Leave out lines that cannot be read, and count them, instead of refusing.

    Raises:
        DataError: The file cannot be read, is no session log, comes from a newer major version,
            or has a damaged line or a broken chain; names the line and the way out.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}") from exc
    reading = _Reading(path, skip_bad_lines=skip_bad_lines)
    # By bytes: str.splitlines() also breaks at U+2028, which may stand in a question.
    *whole, tail = data.split(b"\n")
    for number, line in enumerate(whole, start=1):
        reading.take(line, number)
    if tail:
        reading.warnings.append(
            f"{path}: line {len(whole) + 1} is incomplete: cut short by a crash, not counted"
        )
    return reading.record(torn=tail, whole_bytes=len(data) - len(tail))


class _BadLineError(Exception):
    pass


class _Reading:
    def __init__(self, path: Path, *, skip_bad_lines: bool) -> None:
        self.path = path
        self.skip_bad_lines = skip_bad_lines
        self.warnings: list[str] = []
        self.events: list[LoggedEvent] = []
        self.head = EMPTY_HEAD
        self.seen: set[bytes] = set()
        self.unknown = self.duplicates = self.skipped = 0
        self._start: SessionStart | None = None

    def take(self, line: bytes, number: int) -> None:
        digest = hashlib.sha256(line).digest()
        if digest in self.seen:
            # Every line holds its own number and its predecessor's digest: equal lines are copies.
            self.duplicates += 1
            self.warnings.append(f"{self.path}: line {number} stands twice, counted once")
            return
        self.seen.add(digest)
        try:
            self._read(line)
        except _BadLineError as exc:
            if not self.skip_bad_lines:
                raise DataError(
                    f"{self.path}: line {number}: {exc}; "
                    "pass --skip-bad-lines to go on without what cannot be read"
                ) from exc
            self.skipped += 1
            self.warnings.append(f"{self.path}: line {number} skipped: {exc}")

    def _read(self, line: bytes) -> None:
        fields = _parse(line)
        if self._start is None:
            _check_schema(fields, self.path)
        seq, prev = fields["seq"], fields["prev"]
        expected = self.head
        is_linked = seq == expected.seq + 1 and prev == expected.sha256
        if not is_linked and not (self.skip_bad_lines and self.skipped):
            raise _BadLineError(
                f"the chain is broken: it does not follow event {expected.seq}; "
                "the file was edited or damaged"
            )
        self.head = LogHead(seq=cast("int", seq), sha256=hashlib.sha256(line).hexdigest())
        kind = EVENT_TYPES.get(str(fields["event"]))
        if kind is None:
            self.unknown += 1
            return
        event = _event(kind, fields)
        if isinstance(event.body, SessionStart):
            self._start = event.body
        self.events.append(event)

    def record(self, *, torn: bytes, whole_bytes: int) -> SessionRecord:
        if self._start is None:
            raise DataError(f"{self.path}: no session in it: session_start is missing")
        if self.unknown:
            self.warnings.append(
                f"{self.path}: {self.unknown} events of an unknown kind skipped: "
                "written by a newer hil-mcp"
            )
        return SessionRecord(
            path=self.path,
            start=self._start,
            events=tuple(self.events),
            head=self.head,
            warnings=tuple(self.warnings),
            unknown_events=self.unknown,
            duplicate_events=self.duplicates,
            skipped_lines=self.skipped,
            torn=torn,
            whole_bytes=whole_bytes,
        )


def _parse(line: bytes) -> dict[str, object]:
    try:
        value: object = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError) as exc:
        raise _BadLineError("not a JSON object") from exc
    if not isinstance(value, dict):
        raise _BadLineError("not a JSON object")
    fields = cast("dict[str, object]", value)
    missing = [name for name in _COMMON if name not in fields]
    if missing:
        raise _BadLineError(f"not an event: {', '.join(missing)} missing")
    return fields


def _check_schema(fields: dict[str, object], path: Path) -> None:
    if fields["event"] != SessionStart.event:
        return
    name, _, version = str(fields.get("schema", "")).rpartition("/")
    if name != _SCHEMA_NAME or version.partition(".")[0] != _SCHEMA_MAJOR:
        raise DataError(
            f"{path}: schema {fields.get('schema')!r} is not {SCHEMA}: "
            "read it with the hil-mcp that wrote it, or a newer one"
        )


def _event(kind: type[EventBody], fields: dict[str, object]) -> LoggedEvent:
    body = {name: value for name, value in fields.items() if name not in _COMMON}
    try:
        return LoggedEvent(
            seq=cast("int", fields["seq"]),
            ts=datetime.fromisoformat(str(fields["ts"])),
            body=kind.model_validate(body, extra="ignore"),
        )
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _BadLineError(f"{fields['event']}: {place}: {first['msg'].lower()}") from exc
    except ValueError as exc:
        raise _BadLineError(f"ts is not a time: {fields['ts']!r}") from exc
