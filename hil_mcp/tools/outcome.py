"""What every repository tool does with a refusal: it is an outcome of the call, told in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.repository.errors import RefusedError
from hil_mcp.sandbox.errors import SandboxTimeoutError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hil_mcp.tools.tool import Arguments

REPLY_LIMIT_CHARS = 8_000
"""Longest reply; every agent passes this on whole."""


def told(call: Callable[[Arguments], Awaitable[str]]) -> Callable[[Arguments], Awaitable[str]]:
    """Turn a refusal and a time-out into the reply's text. A broken sandbox stays an error."""

    async def handler(arguments: Arguments) -> str:
        try:
            return await call(arguments)
        except RefusedError as exc:
            return f"Error: {exc}."
        except SandboxTimeoutError as exc:
            return f"Error: {exc}."

    return handler
