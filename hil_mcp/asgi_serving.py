"""Serve an ASGI app on a bound socket until cancelled: many at once in one event loop.

Signals stay the caller's, and a server that nobody calls does not wake the loop.
"""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import uvicorn

if TYPE_CHECKING:
    from collections.abc import Generator

    from anyio.abc import TaskStatus
    from starlette.types import ASGIApp, Receive, Scope, Send

_GRACE_S = 4.0
# Agents keep a connection through a long tool call; one closed under them reads as a lost link.
_KEEP_ALIVE_S = 3600
_POLL_S = 0.01


async def serve_app(
    app: ASGIApp,
    listener: socket.socket,
    *,
    grace_s: float = _GRACE_S,
    task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled, and leave no connection, call or socket open.

    Args:
        app: The app; its lifespan is run where it has one.
        listener: A bound TCP or Unix socket, which is closed at the end.
        grace_s: Time that calls in progress have to end after the cancellation, in seconds.
        task_status: Told once connections are accepted.
    """
    if listener.family != socket.AF_UNIX:
        # Inherited by every connection. asyncio sets it only where a socket names its protocol, and
        # without it each event of a stream waits for the other end's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server = _Server(app, grace_s=grace_s, task_status=task_status)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_when_cancelled, server)
        with anyio.CancelScope(shield=True):
            await server.serve(sockets=[listener])


async def _stop_when_cancelled(server: _Server) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        server.stop.set()


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers and its tick, ten times a second for each server."""

    def __init__(self, app: ASGIApp, *, grace_s: float, task_status: TaskStatus[None]) -> None:
        self._calls = _Calls(app)
        super().__init__(
            uvicorn.Config(
                self._calls,
                ws="none",
                interface="asgi3",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
            )
        )
        self._grace_s = grace_s
        self._task_status = task_status
        self.stop = anyio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def main_loop(self) -> None:
        self._task_status.started()
        await self.stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End everything. uvicorn's own neither ends what outlives its grace nor waits for it."""
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()  # now, or when its call has ended
        with anyio.move_on_after(self._grace_s):
            await self._all_ended()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        self._calls.cancel()
        await self._all_ended()
        await self.lifespan.shutdown()

    async def _all_ended(self) -> None:
        # uvicorn keeps two sets and tells nobody when they are empty.
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110
            await anyio.sleep(_POLL_S)


class _Calls:
    """Passes calls on and can end those in progress."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: set[anyio.CancelScope] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # lifespan
            await self._app(scope, receive, send)
            return
        with anyio.CancelScope() as call:
            self._open.add(call)
            try:
                await self._app(scope, receive, send)
            finally:
                self._open.discard(call)

    def cancel(self) -> None:
        for call in self._open:
            call.cancel()
