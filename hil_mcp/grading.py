"""What a submission is worth: a grade, and the file beside the log in which grades stand.

A log is never changed by grading. Each grade names the submission, the task's digest and the
grader; of several that match, the newest counts. A submission that could not be graded has no
verdict (None), which is not the same as a wrong one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from hil_mcp.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GRADES_FILE = "grades.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a grader says of one submission.

    Attributes:
        compat: Whether the released check passes it; None when it could not be graded, or when
            the release would take the submission's own failure for one of its harness.
        strict: Whether it is right; None when it could not be graded.
        detail: Reasons in words and what supports them, as JSON values.
        grader_version: Changes when a verdict may.
    """

    compat: bool | None
    strict: bool | None
    detail: Mapping[str, object] = field(default_factory=dict[str, object])
    grader_version: str

    @property
    def is_graded(self) -> bool:
        """Whether there is a verdict."""
        return self.strict is not None


class Grade(BaseModel):
    """One line of `grades.jsonl`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    session_id: str
    submission_digest: str | None
    """SHA-256 of the submission; None when nothing was submitted."""
    task_digest: str
    grader_version: str
    compat: bool | None
    strict: bool | None
    detail: dict[str, object]


def grade_of(
    finding: Finding, *, session_id: str, submission_digest: str | None, task_digest: str
) -> Grade:
    """The grade that a finding comes to for one session."""
    return Grade(
        session_id=session_id,
        submission_digest=submission_digest,
        task_digest=task_digest,
        grader_version=finding.grader_version,
        compat=finding.compat,
        strict=finding.strict,
        detail=dict(finding.detail),
    )


def append_grade(folder: Path, grade: Grade) -> None:
    """Add one grade to the file in a log's folder.

    Raises:
        DataError: It cannot be written.
    """
    path = folder / GRADES_FILE
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(grade.model_dump(mode="json"), ensure_ascii=False) + "\n")
    except OSError as exc:
        raise DataError(f"{path}: cannot be written: {exc.strerror}") from exc


def newest_grade(
    folder: Path, *, session_id: str, submission_digest: str | None, task_digest: str
) -> Grade | None:
    """The grade that counts for a session's last submission; None when there is none.

    A last line that a crash cut short is passed over.

    Raises:
        DataError: The file cannot be read, or a line before the last is no grade.
    """
    path = folder / GRADES_FILE
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}") from exc
    found: Grade | None = None
    for number, line in enumerate(lines[:-1], start=1):
        try:
            grade = Grade.model_validate_json(line)
        except ValidationError as exc:
            raise DataError(f"{path}: line {number} is no grade: remove it and grade anew") from exc
        key = (grade.session_id, grade.submission_digest, grade.task_digest)
        if key == (session_id, submission_digest, task_digest):
            found = grade
    return found
