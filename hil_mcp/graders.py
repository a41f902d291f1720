"""Which grader a task's kind has, and what it says of one submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError
from hil_mcp.grading import Finding
from hil_mcp.repository.grade import GRADER_VERSION as REPOSITORY_VERSION
from hil_mcp.repository.grade import grade_patch
from hil_mcp.sandbox.opening import open_sandbox
from hil_mcp.sql.grade import GRADER_VERSION as SQL_VERSION
from hil_mcp.sql.grade import grade_sql
from hil_mcp.tools.toolset import repository_path
from task_store.records import RepositoryEnvironment, RepositoryGold, SqlEnvironment, SqlGold

if TYPE_CHECKING:
    from hil_mcp.repository.grade import RepositoryGrade
    from hil_mcp.sandbox.opening import SandboxConfig
    from task_store.records import Task
    from task_store.store import TaskStore

_LOG_CHARS = 20_000
"""How much of the end of a test log a grade keeps."""


def grader_version(task: Task) -> str:
    """The version of the grader of this kind of task."""
    return SQL_VERSION if isinstance(task.gold, SqlGold) else REPOSITORY_VERSION


async def grade_submission(
    task: Task, submission: str | None, store: TaskStore, sandboxes: SandboxConfig, *, name: str
) -> Finding:
    """Grade one submission.

    Args:
        task: In the version that was served.
        submission: As submitted; None when nothing was.
        store: Where the task's files are.
        sandboxes: Where the tests of a repository run.
        name: Of the session; names what is made for it.

    Raises:
        MissingArtefactError: The database or the source tree has to be fetched first.
        SandboxError: The sandbox failed, which says nothing about the submission.
    """
    match task.gold, task.environment:
        case SqlGold() as gold, SqlEnvironment(database=database):
            path = store.artefact_path(database, task_id=task.task_id)
            return await grade_sql(gold, path, submission)
        case RepositoryGold() as gold, RepositoryEnvironment() as environment:
            if submission is None:
                return _nothing_submitted()
            path = repository_path(task, environment, store)
            async with open_sandbox(environment, path, sandboxes, session_id=name) as sandbox:
                return _finding(await grade_patch(sandbox, environment, gold, submission))
        case _:
            raise ConfigError(f"task {task.task_id}: gold and environment are of two kinds")


def _finding(grade: RepositoryGrade) -> Finding:
    return Finding(
        compat=grade.released,
        strict=grade.resolved,
        grader_version=REPOSITORY_VERSION,
        detail={
            "reasons": [grade.reason],
            "tests": [{"name": test.name, "status": test.status} for test in grade.tests],
            "log_tail": grade.log[-_LOG_CHARS:],
        },
    )


def _nothing_submitted() -> Finding:
    return Finding(
        compat=False,
        strict=False,
        grader_version=REPOSITORY_VERSION,
        detail={"reasons": ["nothing was submitted"]},
    )
