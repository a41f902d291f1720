"""The contract of a cell: where one attempt's agent lives. Three kinds keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from pathlib import Path

IsolationKind = Literal["bubblewrap", "user", "none"]
ISOLATION_KINDS: tuple[IsolationKind, ...] = ("bubblewrap", "user", "none")

CELL_VARIABLE = "HIL_MCP_CELL"
"""Environment variable that marks every process of a cell with the cell's marker."""


class Cell(Protocol):
    """Where one attempt's agent lives: its folders, its way out, and what runs there.

    Folders have the same path inside and outside. Several commands may run in a cell, one after
    the other or at once; they share folders and network.
    """

    @property
    def home(self) -> Path:
        """Fresh, empty, for the agent's eyes only; gone when the cell is closed."""
        ...

    @property
    def workspace(self) -> Path:
        """Fresh and empty too: the agent's working directory."""
        ...

    @property
    def session_listener(self) -> socket.socket:
        """Bound to a port of 127.0.0.1 as the agent sees it, and not yet listening.

        Whoever opened the cell serves the session on it. The cell closes it.
        """
        ...

    @property
    def model_listener(self) -> socket.socket:
        """The same for the way to the model."""
        ...

    def command(self, command: Sequence[str]) -> list[str]:
        """What to start on this machine so that `command` runs as the agent.

        The environment and the working directory it is started with are the command's; start it
        in `workspace`. Killing its process group ends it.

        Args:
            command: Program and arguments; the program by its absolute path.
        """
        ...
