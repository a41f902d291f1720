"""Opens each kind of sandbox for tests, and says why one cannot be had here."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hil_mcp.sandbox.bubblewrap import open_bubblewrap
from hil_mcp.sandbox.container import open_docker
from hil_mcp.sandbox.docker import DockerDaemon, DockerLimits
from hil_mcp.sandbox.local import open_local

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence

    from hil_mcp.sandbox.sandbox import Sandbox, SandboxKind

TEST_IMAGE = "hil-mcp-test:1"
_ADDRESS_FILE = Path(__file__).resolve().parents[2] / ".cache/docker/address"

EACH_SANDBOX = [
    "local",
    "bubblewrap",
    pytest.param("docker", marks=pytest.mark.docker),
]


def docker_address() -> str:
    """Where scripts/start_test_docker.sh started a daemon."""
    if not _ADDRESS_FILE.exists():
        pytest.fail("no Docker daemon for the tests: run scripts/start_test_docker.sh first")
    return _ADDRESS_FILE.read_text().strip()


@contextmanager
def docker_daemon() -> Generator[DockerDaemon]:
    """The daemon of the tests."""
    daemon = DockerDaemon(docker_address())
    try:
        yield daemon
    finally:
        daemon.close()


@cache
def why_no_bubblewrap() -> str | None:
    """Why bubblewrap cannot be used here, or None."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    probe = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    done = subprocess.run(probe, capture_output=True, check=False, text=True)
    return None if done.returncode == 0 else f"bubblewrap does not work here: {done.stderr.strip()}"


@asynccontextmanager
async def opened(
    kind: SandboxKind,
    tree: Path,
    *,
    session_id: str = "test",
    limits: DockerLimits | None = None,
    protected: Sequence[Path] = (),
) -> AsyncGenerator[Sandbox]:
    """A sandbox of one kind with a copy of `tree`; skips where the kind cannot be had."""
    if kind == "local":
        async with open_local(tree, session_id=session_id) as sandbox:
            yield sandbox
    elif kind == "bubblewrap":
        if reason := why_no_bubblewrap():
            pytest.skip(reason)
        async with open_bubblewrap(tree, session_id=session_id, protected=protected) as sandbox:
            yield sandbox
    else:
        with docker_daemon() as daemon:
            async with open_docker(
                daemon, TEST_IMAGE, session_id=session_id, tree=tree, limits=limits
            ) as sandbox:
                yield sandbox
