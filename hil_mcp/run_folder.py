"""A run on disk: `run.json` and `attempts/<attempt_id>/attempt.json` (docs/session-log.md).

`run.json` holds the conditions and the plan, written once; the plan is where the denominators of a
run come from. `attempt.json` says what came of one attempt and keeps the head of its log.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hil_mcp.counting import CountingRules
from hil_mcp.errors import DataError
from hil_mcp.events import AgentInfo, JudgeInfo
from hil_mcp.modes import Mode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hil_mcp.session_reader import SessionRecord

RUN_SCHEMA = "hil-mcp/run/1"
ATTEMPT_SCHEMA = "hil-mcp/attempt/1"

AttemptOutcome = Literal[
    "finished",
    "agent_crashed",
    "agent_killed",
    "agent_looped",
    "time_limit",
    "turn_limit",
    "money_limit",
    "refused",
    "denied_own_call",
    "no_submission",
    "harness_error",
    "model_error",
    "no_tools",
    "log_mismatch",
]
_HARNESS_OUTCOMES = frozenset({"harness_error", "model_error", "no_tools", "log_mismatch"})


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


_AnyRecord = TypeVar("_AnyRecord", bound=_Record)


class PlannedAttempt(_Record):
    """One (task, mode, pass) of the plan."""

    task_id: str
    task_digest: str
    mode: Mode
    pass_number: int
    n_blockers: int


class RunConditions(_Record):
    """What must be equal for the figures of two runs to be put together."""

    judge: JudgeInfo
    counting_rules: CountingRules
    prompt_digest: str
    isolation: str
    agent: AgentInfo
    agent_settings: dict[str, object]


class RunRecord(_Record):
    """`run.json`."""

    schema_name: Literal["hil-mcp/run/1"] = RUN_SCHEMA
    run_id: str
    conditions: RunConditions
    plan: tuple[PlannedAttempt, ...]


class LogHeadEntry(_Record):
    """The end of the log's chain when the attempt was closed."""

    seq: int
    sha256: str


class AttemptRecord(_Record):
    """`attempt.json`."""

    schema_name: Literal["hil-mcp/attempt/1"] = ATTEMPT_SCHEMA
    attempt_id: str
    task_id: str
    mode: Mode
    pass_number: int
    try_number: int
    outcome: AttemptOutcome
    detail: str = ""
    flags: tuple[str, ...] = ()
    log_head: LogHeadEntry | None
    cost_usd: float | None = None
    duration_s: float | None = None
    turns: int | None = None
    tokens: int | None = None

    @property
    def is_harness_fault(self) -> bool:
        """Whether the attempt is left out of the figures and tried again."""
        return self.outcome in _HARNESS_OUTCOMES


def read_run(folder: Path) -> RunRecord:
    """Read `run.json`.

    Raises:
        DataError: It cannot be read as a run's record; names the field.
    """
    return _read(folder / "run.json", RunRecord)


def read_attempt(folder: Path) -> AttemptRecord:
    """Read `attempt.json`.

    Raises:
        DataError: It cannot be read as an attempt's record; names the field.
    """
    return _read(folder / "attempt.json", AttemptRecord)


def attempt_folders(run_folder: Path) -> Iterator[Path]:
    """The folders of a run's attempts, in the order of their names."""
    yield from sorted(path for path in (run_folder / "attempts").glob("*") if path.is_dir())


def refuse_changed_log(attempt: AttemptRecord, session: SessionRecord) -> None:
    """Compare a log with the head of its chain that was kept when the attempt was closed.

    Raises:
        DataError: The log ends elsewhere.
    """
    head = attempt.log_head
    if head is not None and (head.seq, head.sha256) != (session.head.seq, session.head.sha256):
        raise DataError(
            f"{session.path}: ends at event {session.head.seq}, attempt.json says {head.seq}: "
            "the log was changed after the attempt was closed"
        )


def write_record(folder: Path, record: RunRecord | AttemptRecord) -> Path:
    """Write a record whole or not at all, and give its path."""
    name = "run.json" if isinstance(record, RunRecord) else "attempt.json"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = record.model_dump_json(indent=2) + "\n"
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(folder / name)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return folder / name


def _read(path: Path, kind: type[_AnyRecord]) -> _AnyRecord:
    try:
        return kind.model_validate_json(path.read_bytes())
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}") from exc
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{path}: {place}: {first['msg'].lower()}") from exc
