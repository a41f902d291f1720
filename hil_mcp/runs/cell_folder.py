"""A cell's folder on this machine, its listeners on loopback, and the end of both."""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from clients.process import end_marked, run_child
from hil_mcp.errors import SandboxError
from hil_mcp.runs.cell import CELL_VARIABLE
from hil_mcp.sandbox.scratch import remove_tree

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
    from pathlib import Path


_START_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFolder:
    """Where a cell keeps its files."""

    root: Path
    """Beside home and workspace, for files that the agent must not change."""
    home: Path
    workspace: Path


@asynccontextmanager
async def open_folder(root: Path, *, marker: str) -> AsyncGenerator[CellFolder]:
    """Make a cell's folders; at the end kill what carries the marker, then remove them.

    Raises:
        SandboxError: `root` is there already, or cannot be made.
    """
    folder = _make(root)
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await end_marked(f"{CELL_VARIABLE}={marker}")
            await anyio.to_thread.run_sync(remove_tree, folder.root)


def _make(root: Path) -> CellFolder:
    try:
        root.mkdir(parents=True, mode=0o700)
    except OSError as exc:
        raise SandboxError(f"{root}: no folder can be made for an attempt: {exc.strerror}") from exc
    # Links are followed here, once: a name space shows only the real path.
    real = root.resolve()
    folder = CellFolder(root=real, home=real / "home", workspace=real / "work")
    for path in (folder.home, folder.workspace):
        path.mkdir(mode=0o700)
    return folder


async def why_it_fails(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> str | None:
    """Run a cell's first command: what it says when it does not work, or None when it does."""
    result = await run_child(
        command, env=env, cwd=cwd, timeout_s=_START_LIMIT_S, limit_bytes=10_000
    )
    if result.status == 0:
        return None
    return result.stderr.data.decode(errors="replace").strip() or "no answer in time"


@contextmanager
def host_listener() -> Generator[socket.socket]:
    """A socket bound to a free port of this machine's loopback, closed at the end.

    Raises:
        SandboxError: There is no free port.
    """
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", 0))
        except OSError as exc:
            raise SandboxError(f"no port of 127.0.0.1 is free: {exc.strerror}") from exc
        yield listener
