"""What `hil-mcp register` writes is read by the unmodified agents, and gone after `unregister`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from clients.process import run_child
from tests.support.agents import agent_home, install_agents

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.agents

# The agent's own command that lists servers, and what it says of one that answers. Codex does not
# try; it shows the entry.
LISTS = {
    "claude-code": (("claude", "mcp", "list"), "Connected"),
    "codex": (("codex", "mcp", "get", "hil"), "tool_timeout_sec: 600"),
    "gemini": (("gemini", "mcp", "list"), "Connected"),
    "opencode": (("opencode", "mcp", "list"), "connected"),
    "qwen-code": (("qwen", "mcp", "list"), "Connected"),
}


async def _output(command: tuple[str, ...], own_home: Path, hil_home: Path) -> str:
    result = await run_child(
        command,
        env={
            "HOME": str(own_home),
            "PATH": os.environ["PATH"],
            "HIL_MCP_HOME": str(hil_home),
            "GEMINI_API_KEY": "dummy",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        },
        timeout_s=120,
        limit_bytes=1_000_000,
        cwd=own_home,
    )
    return (result.stdout.data + result.stderr.data).decode()


@pytest.mark.parametrize("client", LISTS)
async def test_an_agent_reaches_the_server_that_was_registered(client: str, home: Path) -> None:
    listing, connected = LISTS[client]
    command = (str(install_agents() / listing[0]), *listing[1:])
    ours = (sys.executable, "-m", "hil_mcp")

    with agent_home() as own_home:
        await _output((*ours, "register", client, "--task", "lockers_late"), own_home, home)
        registered = await _output(command, own_home, home)
        await _output((*ours, "unregister", client), own_home, home)
        unregistered = await _output(command, own_home, home)

    assert "lockers_late" in registered
    assert connected in registered
    assert "lockers_late" not in unregistered
