"""A run on disk: `run.json` and `attempts/<attempt_id>/attempt.json` (docs/session-log.md).

`run.json` holds the conditions and the plan, written once; the plan is where the denominators of a
run come from. `attempt.json` says what came of one attempt and keeps the head of its log.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from hil_mcp.counting import CountingRules
from hil_mcp.errors import DataError
from hil_mcp.events import AgentInfo, JudgeInfo
from hil_mcp.modes import Mode
from hil_mcp.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from hil_mcp.session_reader import SessionRecord

AttemptKey: TypeAlias = tuple[str, Mode, int]
ATTEMPTS_DIR = "attempts"
RUN_FILE = "run.json"
_ATTEMPT_FILE = "attempt.json"
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
    "judge_error",
    "model_error",
    "no_tools",
    "log_mismatch",
]
_HARNESS_OUTCOMES = frozenset(
    {"harness_error", "judge_error", "model_error", "no_tools", "log_mismatch"}
)


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
    """Limits, and whatever else the agent was started with."""


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
    """`attempt.json`. What is not known is None, never 0."""

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
    started_at: datetime | None = None
    duration_s: float | None = None
    exit_status: int | None = None
    """Of the agent's program; None when it was killed by us."""
    model: str | None = None
    """As the agent asked for it."""
    turns: int | None = None
    """Answers of the model."""
    n_requests: int | None = None
    """To the model, repeated and failed ones too."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    n_questions: int | None = None
    """In the log."""
    ask_calls: int | None = None
    """In the agent's own transcript."""
    tool_calls: int | None = None
    """The same, of any tool."""

    @property
    def is_harness_fault(self) -> bool:
        """Whether the attempt is left out of the figures and tried again."""
        return self.outcome in _HARNESS_OUTCOMES


@dataclass(frozen=True, slots=True, kw_only=True)
class PassState:
    """What came of one planned attempt.

    Attributes:
        tries: All that came to an end, in order; none when it is missing.
        counted: The last valid try with its folder, which is the one in the figures.
    """

    planned: PlannedAttempt
    tries: tuple[AttemptRecord, ...]
    counted: tuple[AttemptRecord, Path] | None


def read_run(folder: Path) -> RunRecord:
    """Read `run.json`.

    Raises:
        DataError: It cannot be read as a run's record; names the field.
    """
    return _read(folder / RUN_FILE, RunRecord)


def read_attempt(folder: Path) -> AttemptRecord:
    """Read `attempt.json`.

    Raises:
        DataError: It cannot be read as an attempt's record; names the field.
    """
    return _read(folder / _ATTEMPT_FILE, AttemptRecord)


def finished_attempts(run_folder: Path) -> Iterator[tuple[AttemptRecord, Path]]:
    """The attempts of a run that came to an end, with their folders, in the order of their names.

    A folder without a record is an attempt that was interrupted: it counts as not made.

    Raises:
        DataError: A record cannot be read.
    """
    for folder in sorted((run_folder / ATTEMPTS_DIR).glob("*")):
        if (folder / _ATTEMPT_FILE).exists():
            yield read_attempt(folder), folder


def attempt_key(attempt: PlannedAttempt | AttemptRecord) -> AttemptKey:
    """What the tries of one planned attempt have in common."""
    return (attempt.task_id, attempt.mode, attempt.pass_number)


def plan_state(plan: Iterable[PlannedAttempt], run_folder: Path) -> list[PassState]:
    """What came of each planned attempt so far, in the order of the plan.

    Raises:
        DataError: A record cannot be read.
    """
    tries: dict[AttemptKey, list[tuple[AttemptRecord, Path]]] = {}
    for record, folder in finished_attempts(run_folder):
        tries.setdefault(attempt_key(record), []).append((record, folder))
    states: list[PassState] = []
    for planned in plan:
        made = sorted(tries.get(attempt_key(planned), ()), key=lambda each: each[0].try_number)
        valid = [each for each in made if not each[0].is_harness_fault]
        states.append(
            PassState(
                planned=planned,
                tries=tuple(record for record, _ in made),
                counted=valid[-1] if valid else None,
            )
        )
    return states


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
    name = RUN_FILE if isinstance(record, RunRecord) else _ATTEMPT_FILE
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = record.model_dump_json(indent=2) + "\n"
    write_whole(folder / name, text)
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
