"""Opens each kind of cell for tests, and says why one cannot be had here."""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from hil_mcp.runs.isolation import IsolationConfig, open_cell
from tests.support.sandboxes import why_no_bubblewrap

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from hil_mcp.runs.cell import Cell, IsolationKind

EACH_CELL = ["none", "user", "bubblewrap"]
OTHER_USER = "nobody"


def cell_config(
    kind: IsolationKind, *, protected: Sequence[Path] = (), programs: Sequence[Path] = ()
) -> IsolationConfig:
    """A configuration of one kind; skips where the kind cannot be had."""
    if kind == "user" and os.geteuid() != 0:
        pytest.skip("only root can run a command as another user")
    if kind == "user" and shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    if kind == "bubblewrap" and (reason := why_no_bubblewrap()):
        pytest.skip(reason)
    return IsolationConfig(
        kind=kind,
        user=OTHER_USER if kind == "user" else None,
        protected=tuple(protected),
        programs=tuple(programs),
    )


@asynccontextmanager
async def opened_cell(
    kind: IsolationKind,
    folder: Path,
    *,
    protected: Sequence[Path] = (),
    programs: Sequence[Path] = (),
) -> AsyncGenerator[Cell]:
    """A cell of one kind in `folder`, which must not be there yet."""
    config = cell_config(kind, protected=protected, programs=programs)
    async with open_cell(config, folder, marker=uuid.uuid4().hex) as cell:
        yield cell
