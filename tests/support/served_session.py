"""The asking server over HTTP on a socket that is bound already, as a run serves a session."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from hil_mcp.asgi_serving import serve_app
from hil_mcp.serving import MCP_PATH, BearerToken
from tests.support.asking_server import build

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator
    from pathlib import Path


@asynccontextmanager
async def served_session(listener: socket.socket, log: Path, *, token: str) -> AsyncGenerator[str]:
    """Serve on `listener` for the time of the context; the session's address."""
    app = build(log).streamable_http_app(streamable_http_path=MCP_PATH, stateless_http=True)
    async with anyio.create_task_group() as serving:
        await serving.start(serve_app, BearerToken(app, token), listener)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}{MCP_PATH}"
        serving.cancel_scope.cancel()
