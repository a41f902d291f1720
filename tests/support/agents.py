"""The pinned agents from npm, and one run of one of them in a home of its own.

`tests/e2e/agents/package-lock.json` pins them. `python -m tests.support.agents` installs them,
once for each state of that file, into `.cache/agents`; the tests do so too when they are asked for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from clients.client import Client, Finished, Job, Model, Server
from clients.run_client import run_client

if TYPE_CHECKING:
    from collections.abc import Generator

    from clients.transcript import Transcript

_ROOT = Path(__file__).resolve().parents[2]
_PINS = _ROOT / "tests" / "e2e" / "agents"
_INSTALLED = _ROOT / ".cache" / "agents"
# Not in the temporary folder: Codex refuses to make its helpers there and says so.
_HOMES = _ROOT / ".cache" / "agent-homes"
_OUTPUT_LIMIT_BYTES = 10_000_000
_MODULES = _INSTALLED / "node_modules"
# npm runs a package's install script only where it has been told to; these two fetch nothing.
_SCRIPTS = (
    _MODULES / "@anthropic-ai" / "claude-code" / "install.cjs",
    _MODULES / "opencode-ai" / "postinstall.mjs",
)


def install_agents() -> Path:
    """Install the pinned agents unless they are there.

    Returns:
        The folder of their programs.
    """
    lock_file = _PINS / "package-lock.json"
    digest = hashlib.sha256(lock_file.read_bytes()).hexdigest()
    stamp = _INSTALLED / "installed"
    _INSTALLED.mkdir(parents=True, exist_ok=True)
    with FileLock(_INSTALLED / "lock"):
        if not stamp.is_file() or stamp.read_text() != digest:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(_PINS / name, _INSTALLED / name)
            # Not `npm ci`: it wants an entry for every platform's optional package, and
            # opencode names some that are not published.
            options = ("--ignore-scripts", "--no-save", "--no-audit", "--no-fund")
            subprocess.run(["npm", "install", *options], cwd=_INSTALLED, check=True)
            for script in _SCRIPTS:
                subprocess.run(["node", script.name], cwd=script.parent, check=True)
            stamp.write_text(digest)
    return _MODULES / ".bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """What came of a run."""

    finished: Finished
    transcript: Transcript


@contextmanager
def agent_home() -> Generator[Path]:
    """An empty folder for a run, removed afterwards."""
    home = _HOMES / uuid.uuid4().hex
    home.mkdir(parents=True)
    try:
        yield home
    finally:
        shutil.rmtree(home)


async def run_agent(
    client: Client,
    *,
    server: Server,
    endpoint: str,
    home: Path,
    key: str = "dummy",
    prompt: str = "Do the task.",
    environment: dict[str, str] | None = None,
    max_turns: int | None = None,
    limit_s: float = 120,
) -> AgentRun:
    """Run an agent to its end against a scripted model, in a clean environment.

    Args:
        home: From `agent_home`; the workspace is a folder in it.
        key: What the agent has as its API key.
        limit_s: Longest run, in seconds; then its process group is killed.
    """
    assert client.headless is not None
    workspace = home / "work"
    workspace.mkdir()
    job = Job(
        server=server,
        model=Model(name=f"{client.name}-scripted", base_url=endpoint, key=key),
        prompt=prompt,
        workspace=workspace,
        home=home,
        environment={"PATH": os.environ["PATH"], **(environment or {})},
        max_turns=max_turns,
    )
    program = install_agents() / client.headless.program
    finished = await run_client(
        client, job, program=program, limit_s=limit_s, limit_bytes=_OUTPUT_LIMIT_BYTES
    )
    assert finished.exit_status is not None, f"{client.title} did not end within {limit_s} s"
    return AgentRun(finished=finished, transcript=client.headless.read(finished))


if __name__ == "__main__":
    print(install_agents())
