"""`none`: the agent runs as this user, on this machine. Nothing is kept from it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.runs.cell import CELL_VARIABLE
from hil_mcp.runs.cell_folder import host_listener, open_folder

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCell:
    """Keeps the contract of `Cell`, and no one out."""

    home: Path
    workspace: Path
    session_listener: socket.socket
    model_listener: socket.socket
    marker: str

    def command(self, command: Sequence[str]) -> list[str]:
        """See `Cell.command`."""
        return ["/usr/bin/env", f"{CELL_VARIABLE}={self.marker}", *command]


@asynccontextmanager
async def open_plain_cell(folder: Path, *, marker: str) -> AsyncGenerator[PlainCell]:
    """Open a cell that guards nothing.

    Raises:
        SandboxError: The folder is there already, or cannot be made.
    """
    async with open_folder(folder, marker=marker) as made:
        with host_listener() as session, host_listener() as model:
            yield PlainCell(
                home=made.home,
                workspace=made.workspace,
                session_listener=session,
                model_listener=model,
                marker=marker,
            )
