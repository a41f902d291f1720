"""The statement that an agent is given, and its digest (docs/guide.md, Modes).

Our own short template is the default; the released `instruction.md` speaks of shell commands that
do not exist over MCP, so it is used only on demand. Statements are put together by `str.join`: some
hold braces, so nothing here may be a format string of anybody's text.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError
from hil_mcp.modes import Mode
from task_store.records import SqlEnvironment

if TYPE_CHECKING:
    from pathlib import Path

    from task_store.records import Registry, Task

_DATABASE = "Database: "
_QUESTION = "Question: "
_SUBMIT_SQL = "Answer with one SQLite query, submitted with the submit_sql tool."
_ADDITIONAL = "Additional information:"
_ANNOUNCEMENT = "The ask_human tool reaches the person who gave this task."


class PromptStyle(StrEnum):
    """Which words the statement is given in."""

    OWN = "own"
    RELEASED = "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptChoice:
    """What a user chose to say around a task's own words; its digest is part of the conditions."""

    style: PromptStyle = PromptStyle.OWN
    instructions: str | None = None
    """Put before every statement, whatever the task and mode."""
    announce_tool: bool = False
    """Whether one neutral line names ask_human, in the modes that have it."""


def read_choice(
    style: PromptStyle, instructions: Path | None, *, announce_tool: bool
) -> PromptChoice:
    """A choice whose instructions stand in a file.

    Raises:
        ConfigError: The file cannot be read, or is empty.
    """
    text = None
    if instructions is not None:
        try:
            text = instructions.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"--instructions {instructions}: cannot be read: {exc}") from exc
        if not text.strip():
            raise ConfigError(f"--instructions {instructions}: is empty: leave the option out")
    return PromptChoice(style=style, instructions=text, announce_tool=announce_tool)


def prompt_for(task: Task, mode: Mode, choice: PromptChoice) -> str:
    """The whole text that an agent is given for a task in a mode.

    Raises:
        ConfigError: The released instruction is asked for and the task has none for the mode.
    """
    parts = [(choice.instructions or "").strip(), statement_for(task, mode, choice.style).strip()]
    if choice.announce_tool and mode.can_ask:
        parts.append(_ANNOUNCEMENT)
    return "\n\n".join(part for part in parts if part) + "\n"


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


def prompt_digest(choice: PromptChoice | None = None) -> str:
    """SHA-256 of all words that are not a task's; equal for all tasks and modes of a run."""
    chosen = choice or PromptChoice()
    template = [chosen.style, _DATABASE, _QUESTION, _SUBMIT_SQL, _ADDITIONAL]
    if chosen.instructions is not None:
        template.append(f"instructions: {chosen.instructions}")
    if chosen.announce_tool:
        template.append(f"announcement: {_ANNOUNCEMENT}")
    return hashlib.sha256(json.dumps(template).encode()).hexdigest()


def _resolutions(registry: Registry) -> str:
    entries = (f"- {b.description.strip()}\n  {b.resolution.strip()}" for b in registry.blockers)
    return "\n".join([_ADDITIONAL, *entries])
