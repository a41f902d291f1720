"""Which tools a session has: by the task's kind and the mode (design.md, Modes)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hil_mcp.tools.ask_human import ask_human

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from hil_mcp.modes import Mode
    from hil_mcp.session import Session
    from hil_mcp.tools.tool import Tool
    from task_store.records import Task


@asynccontextmanager
async def open_tools(
    task: Task, mode: Mode, session: Session, home: Path
) -> AsyncGenerator[tuple[Tool, ...]]:
    """The tools of a session; what they hold open is given back at the end.

    Args:
        task: The task.
        mode: What the agent gets.
        session: Takes questions and submissions.
        home: Where the task's files and caches are.

    Raises:
        MissingArtefactError: A file that a tool needs has to be fetched first.
    """
    tools: list[Tool] = []
    if mode.can_ask:
        tools.append(ask_human(session))
    yield tuple(tools)
