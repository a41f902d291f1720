"""Model endpoints of a few lines: what they were sent, to the byte, and answers under control."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope, Send


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A request as it came in."""

    method: str
    path: str
    """As sent, with the query."""
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each == name), None)


@dataclass(slots=True)
class Upstream:
    """An ASGI app that keeps what it gets and answers always the same, chunk by chunk."""

    chunks: Sequence[bytes] = (b"{}",)
    status: int = 200
    headers: Sequence[tuple[str, str]] = (("content-type", "application/json"),)
    gate: anyio.Event | None = None
    """Waited for after the first chunk."""
    before: anyio.Event | None = None
    """Waited for before anything is sent."""
    arrived: list[Arrived] = field(default_factory=list[Arrived])
    came: anyio.Event = field(default_factory=anyio.Event)
    """Set when a request is whole."""
    left: anyio.Event = field(default_factory=anyio.Event)
    """Set when a request's other end has gone before the answer's."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.arrived.append(await _read(scope, receive))
        self.came.set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, receive)
            await self._answer(send)
            tasks.cancel_scope.cancel()

    async def _answer(self, send: Send) -> None:
        if self.before is not None:
            await self.before.wait()
        raw = [(name.encode(), value.encode()) for name, value in self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": raw})
        for number, chunk in enumerate(self.chunks):
            if number == 1 and self.gate is not None:
                await self.gate.wait()
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()


async def _read(scope: Scope, receive: Receive) -> Arrived:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    query = scope["query_string"].decode()
    return Arrived(
        method=scope["method"],
        path=scope["raw_path"].decode() + (f"?{query}" if query else ""),
        headers=[(name.decode(), value.decode()) for name, value in scope["headers"]],
        body=body,
    )
