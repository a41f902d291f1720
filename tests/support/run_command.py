"""`hil-mcp run` as a process of its own, with a real agent and a clean environment."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clients.process import ChildResult, run_child
from hil_mcp.runs.programs import base_python
from tests.support.agents import agent_home, install_agents

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

KEYS = {
    "claude-code": "ANTHROPIC_API_KEY",
    "codex": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "opencode": "OPENAI_API_KEY",
}
KEY = "the-real-key"
# Kills all of the agent's processes, and nothing outside: only in a name space of its own. By
# Python, since some agents look through a shell's words for paths and substitutions.
KILL_ALL = (
    f"{base_python()} -c \"import os; open('/proc/1/comm').read() == 'bwrap' + chr(10) and"
    ' os.kill(-1, 9)"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand:
    """What is started."""

    arguments: list[str]
    environment: dict[str, str]

    async def carry_out(self, *more: str) -> Ended:
        """Run it to its end."""
        result = await run_child(
            [*self.arguments, *more],
            env=self.environment,
            timeout_s=600,
            limit_bytes=10_000_000,
        )
        return read_end(result)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How it ended."""

    status: int | None
    document: dict[str, Any]
    """Empty when nothing was printed."""
    stderr: str

    def mode(self, name: str = "ask_human") -> dict[str, Any]:
        """The figures of one mode."""
        return next(mode for mode in self.document["modes"] if mode["mode"] == name)


@contextmanager
def run_command(
    agent: str, endpoint: str, home: Path, out: Path, *options: str
) -> Generator[RunCommand]:
    """The command for one agent; its own home is there for the time of the context."""
    with agent_home() as user_home:
        yield RunCommand(
            arguments=[
                *(sys.executable, "-m", "hil_mcp", "run", "--agent", agent, "--judge", "embedded"),
                *("--model", "scripted", "--base-url", endpoint, "--out", str(out), "--json"),
                *options,
            ],
            environment={
                "PATH": f"{install_agents()}:{os.environ['PATH']}",
                "HOME": str(user_home),
                "HIL_MCP_HOME": str(home),
                KEYS[agent]: KEY,
            },
        )


def read_end(result: ChildResult) -> Ended:
    text = result.stdout.data.decode()
    return Ended(
        status=result.status,
        document=json.loads(text) if text else {},
        stderr=result.stderr.data.decode(),
    )
