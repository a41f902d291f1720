"""Serve one session over stdio or streamable HTTP, and end it cleanly however the end comes."""

from __future__ import annotations

import hmac
import os
import signal
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

from hil_mcp.errors import ConfigError
from hil_mcp.server import build_server
from hil_mcp.stdio_transport import stdio_streams
from hil_mcp.task_errors import first_error

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from anyio.abc import TaskStatus
    from starlette.types import ASGIApp, Receive, Scope, Send

    from hil_mcp.judging import BackgroundJudge
    from hil_mcp.session import Session
    from hil_mcp.tools.tool import Tool

MCP_PATH = "/mcp"
_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def serve_stdio(
    session: Session, tools: Sequence[Tool], judge: BackgroundJudge | None
) -> None:
    """Serve until the agent closes stdin or a signal comes.

    `initialize` and `tools/list` are answered before any model is loaded: some agents wait only two
    seconds and then go on, silently, without the tools.

    Raises:
        ConfigError: Stdin or stdout is closed.
    """
    listed = anyio.Event()
    server = build_server(session, tools, transport="stdio", on_ready=listed.set)
    with stdio_streams() as (reader, writer):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_end_process_on_signal, session, tools)
            tasks.start_soon(_warm_up, listed, judge, tools)
            await server.run(reader, writer, server.create_initialization_options())
            await session.close("disconnected")
            tasks.cancel_scope.cancel()


async def serve_http(
    session: Session,
    tools: Sequence[Tool],
    judge: BackgroundJudge | None,
    *,
    listener: socket.socket,
    token: str,
    on_serving: Callable[[str], None],
) -> None:
    """Serve one session on a bound socket until a signal comes.

    The judge is probed before the port opens: a run must not start with an unfit one.

    Args:
        session: Begun at once: over HTTP a silent session has a log too.
        tools: What the agent gets.
        judge: The session's judge.
        listener: Bound and not yet listening.
        token: What the agent must send as bearer token.
        on_serving: Called with the session's address once requests are answered.

    Raises:
        JudgeError: The judge is unfit; nothing was served.
    """
    if judge is not None:
        await judge.run()
        await judge.ready()
    await session.begin()
    host, port = listener.getsockname()[:2]
    app = session_app(session, tools, host=str(host), token=token)
    with _as_config_error(f"{host}:{port}"):
        listener.listen()
    shown = f"[{host}]" if ":" in host else host
    with first_error():
        await _serve_until_signal(
            app, listener, tools, on_serving, url=f"http://{shown}:{port}{MCP_PATH}"
        )
    await session.close("shutdown")


async def _serve_until_signal(
    app: ASGIApp,
    listener: socket.socket,
    tools: Sequence[Tool],
    on_serving: Callable[[str], None],
    *,
    url: str,
) -> None:
    # uvicorn, which a server over stdio has no time to import.
    from hil_mcp.asgi_serving import serve_app

    async with anyio.create_task_group() as tasks:
        # Before anybody knows of the server: whoever does may end it.
        await tasks.start(_cancel_on_signal, tasks.cancel_scope)
        # What comes from here on waits in the backlog.
        on_serving(url)
        tasks.start_soon(_warm_up_tools, tools)
        await serve_app(app, listener)


def session_app(session: Session, tools: Sequence[Tool], *, host: str, token: str) -> ASGIApp:
    """A session over HTTP, behind its token.

    Args:
        session: Begun.
        tools: What the agent gets.
        host: What it is served on.
        token: What the agent must send as bearer token.
    """
    server = build_server(session, tools, transport="http")
    # Stateless: one agent never comes back after a lost session id. On loopback the SDK checks the
    # Host header, against web pages that rebind their name. What another machine or a container
    # connects to has a name that only it knows.
    app = server.streamable_http_app(streamable_http_path=MCP_PATH, stateless_http=True, host=host)
    return BearerToken(app, token)


def bind(address: str) -> socket.socket:
    """Bind `HOST:PORT` without listening yet; port 0 takes a free one.

    Raises:
        ConfigError: The address is malformed or in use.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ConfigError(f"--http {address}: not HOST:PORT, such as 127.0.0.1:8765")
    host = host.strip("[]") or "127.0.0.1"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    # A port in TIME_WAIT is free; one that another server listens on is refused all the same.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        with _as_config_error(address):
            listener.bind((host, int(port)))
    except ConfigError:
        listener.close()
        raise
    return listener


@contextmanager
def _as_config_error(address: str) -> Generator[None]:
    try:
        yield
    except (OSError, OverflowError) as exc:
        raise ConfigError(
            f"--http {address}: cannot be served: {exc}; choose another port, or 0 for a free one"
        ) from exc


class BearerToken:
    """Lets requests with the session's token through and answers 401 to all others."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        """Guard `app`."""
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":  # lifespan
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"authorization", b"")
        if hmac.compare_digest(given, self._expected):
            await self._app(scope, receive, send)
            return
        await send(
            {
                "type": "http.response.start",
                "status": 401,
                "headers": [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")],
            }
        )
        await send({"type": "http.response.body", "body": b""})


async def _warm_up(
    listed: anyio.Event, judge: BackgroundJudge | None, tools: Sequence[Tool]
) -> None:
    await listed.wait()
    if judge is not None:
        await judge.run()
    await _warm_up_tools(tools)


async def _warm_up_tools(tools: Sequence[Tool]) -> None:
    for tool in tools:
        if tool.warm_up is not None:
            await tool.warm_up()


async def _end_process_on_signal(session: Session, tools: Sequence[Tool]) -> None:
    with anyio.open_signal_receiver(*_END_SIGNALS) as signals:
        async for _ in signals:
            await session.close("shutdown")
            for tool in tools:
                if tool.close is not None:
                    await tool.close()
            # A thread that loads a model or waits for Docker cannot be cancelled.
            os._exit(0)


async def _cancel_on_signal(
    scope: anyio.CancelScope, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    with anyio.open_signal_receiver(*_END_SIGNALS) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()
