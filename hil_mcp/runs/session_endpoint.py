"""One server for one attempt, over HTTP, inside the process of the run.

An agent's process is worth a second of CPU time; a server process of its own for each attempt would
be worth another. So the servers of a run share one process, and nothing else: each has its own
socket, token, session and log.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from hil_mcp.asgi_serving import serve_app
from hil_mcp.serving import MCP_PATH, session_app
from hil_mcp.session import Session
from hil_mcp.session_log import SessionLog
from hil_mcp.tools.toolset import open_tools

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from hil_mcp.modes import Mode
    from hil_mcp.sandbox.opening import SandboxConfig
    from hil_mcp.session import SessionConditions
    from judge.embedder import Embedder
    from judge.verdict import Judge
    from task_store.records import Task
    from task_store.store import TaskStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerParts:
    """What the servers of one run share.

    Attributes:
        store: Where tasks and their files are.
        judge: Ready to be asked; None when no mode of the run asks.
        embedder: Loaded once.
        sandboxes: How repositories are run.
    """

    store: TaskStore
    judge: Judge | None
    embedder: Embedder
    sandboxes: SandboxConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEndpoint:
    """Where an agent reaches its session.

    Attributes:
        url: The address, as seen where the agent lives.
        session: Its state; the log on disk is its truth.
        tool_names: What the agent gets.
    """

    url: str
    session: Session
    tool_names: tuple[str, ...]


@asynccontextmanager
async def open_session_endpoint(
    task: Task,
    conditions: SessionConditions,
    parts: ServerParts,
    *,
    log_path: Path,
    listener: socket.socket,
    token: str,
) -> AsyncGenerator[SessionEndpoint]:
    """Serve one session for the time of the context, and close its log at the end.

    Args:
        task: The task.
        conditions: As they are to stand in the log; the mode is among them.
        parts: Shared with the run's other servers.
        log_path: Where the log is written.
        listener: Bound, in the network where the agent lives.
        token: The one bearer token that opens the session.

    Raises:
        ConfigError: The task cannot be served here.
        MissingArtefactError: A file of the task has to be fetched first.
        SandboxError: The task's sandbox does not start.
    """
    mode: Mode = conditions.mode
    judge = parts.judge if mode.can_ask else None
    session = Session(task, conditions, SessionLog(log_path), judge)
    try:
        await session.begin()
        opened = open_tools(task, mode, session, parts.store, parts.embedder, parts.sandboxes)
        async with opened as tools, anyio.create_task_group() as serving:
            for tool in tools:
                if tool.warm_up is not None:
                    await tool.warm_up()
            host, port = listener.getsockname()[:2]
            app = session_app(session, tools, host=str(host), token=token)
            await serving.start(serve_app, app, listener)
            yield SessionEndpoint(
                url=f"http://{host}:{port}{MCP_PATH}",
                session=session,
                tool_names=tuple(tool.name for tool in tools),
            )
            serving.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await session.close("closed")
