"""The statement that an agent is given, and its digest (docs/guide.md, Modes).

Our own short template is the default; the released `instruction.md` speaks of shell commands that
do not exist over MCP, so it is used only on demand. Statements are put together by `str.join`: some
hold braces, so nothing here may be a format string of anybody's text.
"""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError
from hil_mcp.modes import Mode
from task_store.records import SqlEnvironment

if TYPE_CHECKING:
    from task_store.records import Registry, Task

_DATABASE = "Database: "
_QUESTION = "Question: "
_SUBMIT_SQL = "Answer with one SQLite query, submitted with the submit_sql tool."
_ADDITIONAL = "Additional information:"


class PromptStyle(StrEnum):
    """Which words the statement is given in."""

    OWN = "own"
    RELEASED = "released"


def statement_for(task: Task, mode: Mode, style: PromptStyle = PromptStyle.OWN) -> str:
    """The text an agent is given for a task in a mode.

    Raises:
        ConfigError: The released instruction is asked for and the task has none for the mode.
    """
    if style is PromptStyle.RELEASED:
        text = task.released_instructions.get(mode)
        if text is None:
            raise ConfigError(
                f"task {task.task_id} has no released instruction for mode {mode}: "
                "leave --prompt out"
            )
        return text
    parts = [task.statement.strip()]
    if isinstance(task.environment, SqlEnvironment):
        parts = [
            _DATABASE + task.environment.database_name + "\n" + _QUESTION + task.statement.strip()
        ]
    if mode is Mode.FULL_INFO:
        parts.append(_resolutions(task.registry))
    if isinstance(task.environment, SqlEnvironment):
        parts.append(_SUBMIT_SQL)
    return "\n\n".join(parts) + "\n"


def prompt_digest(style: PromptStyle = PromptStyle.OWN) -> str:
    """SHA-256 of the template; equal for all tasks and modes of a run."""
    template = [style, _DATABASE, _QUESTION, _SUBMIT_SQL, _ADDITIONAL]
    return hashlib.sha256(json.dumps(template).encode()).hexdigest()


def _resolutions(registry: Registry) -> str:
    entries = (f"- {b.description.strip()}\n  {b.resolution.strip()}" for b in registry.blockers)
    return "\n".join([_ADDITIONAL, *entries])
