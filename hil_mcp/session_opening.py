"""Which log a server writes: a fresh one, or the unended one of a server that died.

An agent restarts a dead stdio server with the same command line, so what tells the two apart is the
log: unended, its lock free, of the same task, mode and conditions, and not old. A log that another
server holds, or that has ended, is left alone and a session of its own is started.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError, DataError
from hil_mcp.session import Session, new_session_id
from hil_mcp.session_log import LogLockedError, ResumePoint, SessionLog, utc_now
from hil_mcp.session_reader import read_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hil_mcp.judging import BackgroundJudge
    from hil_mcp.session import SessionConditions
    from hil_mcp.session_reader import SessionRecord
    from task_store.records import Task

RESUME_WITHIN = timedelta(hours=1)
"""Age of the last event up to which a log without a given path is taken for a crashed server's."""
LOG_NAME = "session.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession:
    """A session whose log is held, and what the operator should know of it.

    Attributes:
        remarks: For stderr: that another log is written than the one asked for.
    """

    session: Session
    remarks: tuple[str, ...] = ()


def open_session(
    task: Task,
    conditions: SessionConditions,
    judge: BackgroundJudge | None,
    *,
    log_path: Path | None,
    sessions_dir: Path,
    now: Callable[[], datetime] = utc_now,
) -> OpenedSession:
    """Open the log that this server writes.

    Args:
        task: The task that is served.
        conditions: As they are to stand in the log.
        judge: The judge of the session.
        log_path: The log as given by the user; None for a folder of its own below `sessions_dir`.
        sessions_dir: `HIL_MCP_HOME/sessions`.
        now: The clock.

    Raises:
        DataError: The log at `log_path` belongs to something else.
        ConfigError: The log cannot be made there.
    """
    try:
        if log_path is not None:
            return _open_given(task, conditions, judge, log_path)
        return _open_own(task, conditions, judge, sessions_dir, now())
    except OSError as exc:
        place = log_path or sessions_dir
        raise ConfigError(f"{place}: the log cannot be written there: {exc.strerror}") from exc


def _open_own(
    task: Task,
    conditions: SessionConditions,
    judge: BackgroundJudge | None,
    sessions_dir: Path,
    now: datetime,
) -> OpenedSession:
    remarks: list[str] = []
    for path in _recent_logs(sessions_dir, now):
        try:
            opened = _resume(task, conditions, judge, path)
        except LogLockedError:
            remarks.append(f"{path}: another server writes to it; this is another session")
            continue
        if opened is not None:
            return opened
    session_id = new_session_id()
    log = SessionLog(sessions_dir / session_id / LOG_NAME)
    session = _session(task, conditions, log, judge, session_id=session_id)
    return OpenedSession(session=session, remarks=tuple(remarks))


def _open_given(
    task: Task, conditions: SessionConditions, judge: BackgroundJudge | None, path: Path
) -> OpenedSession:
    if not path.exists() or path.stat().st_size == 0:
        try:
            return OpenedSession(session=_session(task, conditions, SessionLog(path), judge))
        except LogLockedError:
            return _beside(task, conditions, judge, path, "another server writes to it")
    read_session(path)  # a file that is no log of ours is refused, never written beside
    try:
        opened = _resume(task, conditions, judge, path)
    except LogLockedError:
        return _beside(task, conditions, judge, path, "another server writes to it")
    if opened is None:
        return _beside(task, conditions, judge, path, "its session is over or another one's")
    return opened


def _beside(
    task: Task, conditions: SessionConditions, judge: BackgroundJudge | None, path: Path, why: str
) -> OpenedSession:
    for number in range(2, 1000):
        other = path.with_name(f"{path.stem}-{number}{path.suffix}")
        if not other.exists():
            remark = f"{path}: {why}; this session is written to {other}"
            log = SessionLog(other)
            return OpenedSession(session=_session(task, conditions, log, judge), remarks=(remark,))
    raise ConfigError(f"{path}: a thousand sessions stand beside it: choose another --log")


def _session(
    task: Task,
    conditions: SessionConditions,
    log: SessionLog,
    judge: BackgroundJudge | None,
    *,
    resumed: SessionRecord | None = None,
    session_id: str | None = None,
) -> Session:
    return Session(
        task,
        conditions,
        log,
        judge,
        resumed=resumed,
        session_id=session_id,
        settled=judge.settled if judge else None,
    )


def _recent_logs(sessions_dir: Path, now: datetime) -> list[Path]:
    def age(path: Path) -> timedelta:
        return now - datetime.fromtimestamp(path.stat().st_mtime, tz=now.tzinfo)

    logs = [path for path in sessions_dir.glob(f"*/{LOG_NAME}") if age(path) <= RESUME_WITHIN]
    return sorted(logs, key=lambda path: path.stat().st_mtime, reverse=True)


def _resume(
    task: Task, conditions: SessionConditions, judge: BackgroundJudge | None, path: Path
) -> OpenedSession | None:
    """Go on with a log, or None when it is not this server's to go on with."""
    try:
        record = read_session(path)
    except DataError:
        return None
    if record.is_ended or not _is_same(record, task, conditions, judge):
        return None
    point = ResumePoint(
        head=record.head, whole_bytes=record.whole_bytes, torn_bytes=len(record.torn)
    )
    log = SessionLog(path, resumed=point)
    return OpenedSession(session=_session(task, conditions, log, judge, resumed=record))


def _is_same(
    record: SessionRecord, task: Task, conditions: SessionConditions, judge: BackgroundJudge | None
) -> bool:
    start = record.start
    logged = start.judge and (
        start.judge.backend,
        start.judge.model,
        start.judge.policy,
        start.judge.prompt_digest,
    )
    # The model that a server reports is known only after its probe: what was asked for decides.
    asked = judge.fingerprint if judge is not None else None
    wanted = asked and (asked.backend, asked.model, asked.policy, asked.prompt_digest)
    return (
        start.task_id == task.task_id
        and start.task_digest == task.digest
        and start.mode is conditions.mode
        and start.counting_rules is conditions.counting_rules
        and start.prompt_digest == conditions.prompt_digest
        and start.attempt_id == conditions.attempt_id
        and logged == wanted
    )
