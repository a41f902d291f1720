"""A command over many things does the rest when one fails, and ends with the worst status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.cli.exit_status import ExitStatus, status_of, worst
from hil_mcp.cli.output import remark

if TYPE_CHECKING:
    from hil_mcp.errors import HilMcpError
    from task_store.errors import TaskStoreError


class Batch:
    """The failures of one command."""

    def __init__(self) -> None:
        self._statuses: list[ExitStatus] = []

    def failed(self, error: HilMcpError | TaskStoreError) -> None:
        """Print an error's line and remember its status."""
        remark(str(error))
        self._statuses.append(status_of(error))

    def refused(self, *, warnings: bool, strict: bool) -> None:
        """Count warnings as refused data under `--strict`."""
        if warnings and strict:
            self._statuses.append(ExitStatus.DATA)

    @property
    def status(self) -> ExitStatus:
        """What the command ends with."""
        return worst(self._statuses)
