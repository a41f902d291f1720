"""`bubblewrap`: the agent sees system folders, its own program and its two folders, no more.

Of the network it sees a loopback of its own with two servers on it, the session's and the model's.
CPU, memory and disk are not limited.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.errors import SandboxError
from hil_mcp.runs.cell import CELL_VARIABLE
from hil_mcp.runs.cell_folder import open_folder, why_it_fails
from hil_mcp.runs.cell_view import view_arguments
from hil_mcp.runs.network import open_network
from hil_mcp.runs.programs import base_python, needed_folders
from hil_mcp.sandbox.system_view import NAMESPACES, USER_ID, kernel_files, system_files
from hil_mcp.settings import find_program

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from hil_mcp.runs.cell_folder import CellFolder

# Programs ask who they are and where localhost is; of this machine's own files nothing is shown.
_ETC_FILES = {
    "passwd": "agent:x:{id}:{id}:agent:{home}:/bin/sh\n",
    "group": "agent:x:{id}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BubblewrapCell:
    """Keeps the contract of `Cell` with one `bwrap` for each command and one network for all."""

    home: Path
    workspace: Path
    session_listener: socket.socket
    model_listener: socket.socket
    prefix: tuple[str, ...]

    def command(self, command: Sequence[str]) -> list[str]:
        """See `Cell.command`. All that a command starts is in a name space that ends with it."""
        return [*self.prefix, "--", *command]


@asynccontextmanager
async def open_bubblewrap_cell(
    folder: Path, *, marker: str, programs: Sequence[Path], protected: Sequence[Path]
) -> AsyncGenerator[BubblewrapCell]:
    """Open a cell in name spaces of its own.

    Raises:
        SandboxError: A program is missing, or this machine does not let it make name spaces.
    """
    bwrap = find_program("bwrap")
    if bwrap is None:
        raise SandboxError(
            "isolation bubblewrap needs the program 'bwrap' (package bubblewrap): install it, or "
            "choose --isolation user or none"
        )
    seen = (*programs, *needed_folders(base_python()))
    async with open_folder(folder, marker=marker) as made, open_network() as network:
        cell = BubblewrapCell(
            home=made.home,
            workspace=made.workspace,
            session_listener=network.session_listener,
            model_listener=network.model_listener,
            prefix=(
                *network.enter,
                bwrap,
                *NAMESPACES,
                *view_arguments(
                    programs=seen, writable=(made.home, made.workspace), protected=protected
                ),
                *system_files(),
                *_etc(made),
                *kernel_files(),
                *("--setenv", CELL_VARIABLE, marker),
                *("--chdir", str(made.workspace)),
            ),
        )
        await _check(cell)
        yield cell


def _etc(folder: CellFolder) -> list[str]:
    arguments: list[str] = []
    for name, text in _ETC_FILES.items():
        path = folder.root / name
        path.write_text(text.format(id=USER_ID, home=folder.home))
        arguments += ["--ro-bind", str(path), f"/etc/{name}"]
    return arguments


async def _check(cell: BubblewrapCell) -> None:
    command = ["/bin/sh", "-c", ": >file && rm file"]
    reason = await why_it_fails(cell.command(command), cwd=cell.workspace, env={})
    if reason is not None:
        raise SandboxError(
            f"isolation bubblewrap starts but runs nothing: {reason}; choose --isolation user or "
            "none if this machine does not let it"
        )
