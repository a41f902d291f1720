"""From paths to graded sessions: each log's last submission against the task that the log names."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.errors import DataError, HilMcpError
from hil_mcp.events import Submission
from hil_mcp.graders import grade_submission, grader_version
from hil_mcp.grading import append_grade, grade_of, newest_grade
from hil_mcp.run_folder import read_attempt, refuse_changed_log
from hil_mcp.session_opening import LOG_NAME
from hil_mcp.session_reader import read_session
from task_store.errors import TaskStoreError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from hil_mcp.grading import Grade
    from hil_mcp.sandbox.opening import SandboxConfig
    from hil_mcp.session_reader import SessionRecord
    from task_store.records import Task
    from task_store.store import TaskStore


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedLog:
    """What came of one log.

    Attributes:
        path: The log, or the path as given when there is none.
        task_id: None when the log could not be read.
        grade: None when it could not even be tried.
        error: Why it could not be.
    """

    path: Path
    task_id: str | None = None
    grade: Grade | None = None
    error: HilMcpError | TaskStoreError | None = None


def find_logs(paths: Iterable[Path]) -> list[Path]:
    """The logs at the paths: files as they are, and every log below a folder or run.

    A path without any log is given back as it is, and fails when it is read.
    """
    logs: list[Path] = []
    for path in paths:
        below = sorted(path.rglob(LOG_NAME)) if path.is_dir() else []
        logs.extend(below or [path])
    return logs


async def grade_log(path: Path, store: TaskStore, sandboxes: SandboxConfig) -> GradedLog:
    """Grade the last submission of one log, and keep the grade beside it.

    A grade that this version of the grader has already given is not worked out again.
    """
    task_id: str | None = None
    try:
        record = _read(path)
        task_id = record.start.task_id
        # In the version that was served: another gold or other rules would be another task.
        task = store.get(task_id, digest=record.start.task_digest)
        grade = await _grade(record, task, store, sandboxes)
    except (HilMcpError, TaskStoreError) as exc:
        return GradedLog(path=path, task_id=task_id, error=exc)
    return GradedLog(path=path, task_id=task_id, grade=grade)


def _read(path: Path) -> SessionRecord:
    if path.is_dir():
        raise DataError(f"{path}: no {LOG_NAME} in it")
    record = read_session(path)
    if (path.parent / "attempt.json").is_file():
        refuse_changed_log(read_attempt(path.parent), record)
    return record


async def _grade(
    record: SessionRecord, task: Task, store: TaskStore, sandboxes: SandboxConfig
) -> Grade:
    folder, start = record.path.parent, record.start
    submissions = record.of(Submission)
    submitted = _content(submissions[-1], folder) if submissions else None
    digest = submissions[-1].digest if submissions else None
    known = newest_grade(
        folder,
        session_id=start.session_id,
        submission_digest=digest,
        task_digest=start.task_digest,
    )
    if (
        known is not None
        and known.strict is not None
        and known.grader_version == grader_version(task)
    ):
        return known
    grade = grade_of(
        await grade_submission(task, submitted, store, sandboxes, name=start.session_id),
        session_id=start.session_id,
        submission_digest=digest,
        task_digest=start.task_digest,
    )
    append_grade(folder, grade)
    return grade


def _content(submission: Submission, folder: Path) -> str:
    """The text that was submitted, from the log or from the file beside it that the log names."""
    if submission.content is not None:
        text = submission.content
    else:
        path = folder / (submission.path or "")
        if not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"{path}: a submission outside the folder of its log is not read")
        try:
            text = path.read_bytes().decode("utf-8", "surrogatepass")
        except (OSError, UnicodeDecodeError) as exc:
            raise DataError(f"{path}: the submission cannot be read: {exc}") from exc
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != submission.digest:
        raise DataError(f"{folder}: the submission is not the one whose digest the log holds")
    return text
