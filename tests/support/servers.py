"""Real server processes: started as an agent starts them, ended whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path


def serve_command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "hil_mcp", "serve", *map(str, arguments)]


@contextmanager
def running(
    command: Sequence[str], *, env: dict[str, str] | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """A child with pipes on all three streams; killed at the end if it still runs."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    with child:
        try:
            yield child
        except BaseException:
            child.kill()  # a server over HTTP would be waited for in vain
            raise


def send(child: subprocess.Popen[bytes], message: dict[str, object]) -> None:
    assert child.stdin is not None
    child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    child.stdin.flush()


def receive(child: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The next reply; notifications on the way are passed over."""
    assert child.stdout is not None
    while True:
        message = json.loads(child.stdout.readline())
        if "id" in message:
            return message


def initialize(child: subprocess.Popen[bytes]) -> dict[str, Any]:
    send(
        child,
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        },
    )
    reply = receive(child)
    send(child, {"method": "notifications/initialized"})
    return reply


def call(
    child: subprocess.Popen[bytes], request_id: int, tool: str, arguments: dict[str, object]
) -> None:
    send(
        child,
        {
            "id": request_id,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        },
    )
