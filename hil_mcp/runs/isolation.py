"""How agents are kept from the answers, and the opening of a cell that does so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError
from hil_mcp.runs.bubblewrap_cell import open_bubblewrap_cell
from hil_mcp.runs.plain_cell import open_plain_cell
from hil_mcp.runs.user_cell import open_user_cell

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from hil_mcp.runs.cell import Cell, IsolationKind


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationConfig:
    """What every cell of a run is made of."""

    kind: IsolationKind
    user: str | None = None
    """Whom agents run as; for `user` alone."""
    protected: tuple[Path, ...] = ()
    """Files and folders that the agent must not read, even below a folder that it sees."""
    programs: tuple[Path, ...] = ()
    """Files and folders that the agent's program needs, read-only (`needed_folders`)."""

    @property
    def name(self) -> str:
        """As it stands in the run's conditions and in each session's log."""
        return f"user {self.user} (files only)" if self.kind == "user" else self.kind


def open_cell(
    config: IsolationConfig, folder: Path, *, marker: str
) -> AbstractAsyncContextManager[Cell]:
    """A cell for one attempt. When it is closed, nothing of it is left running or on disk.

    Args:
        config: The run's.
        folder: Where the cell keeps its files: not there yet, removed at the end.
        marker: Marks the cell's processes; of this attempt alone, on the whole machine.

    Raises:
        ConfigError: The kind does not fit this machine or this user.
        SandboxError: On entering: the cell cannot be made.
    """
    match config.kind:
        case "none":
            return open_plain_cell(folder, marker=marker)
        case "user":
            if config.user is None:
                raise ConfigError("isolation user: say which user agents run as")
            return open_user_cell(folder, marker=marker, user=config.user)
        case "bubblewrap":
            return open_bubblewrap_cell(
                folder, marker=marker, programs=config.programs, protected=config.protected
            )
