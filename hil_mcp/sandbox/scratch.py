"""A temporary folder for one sandbox on this machine: the repository, a home, a place for files."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from hil_mcp.sandbox.source_tree import lay_out

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """Folders on this machine that one sandbox may write to."""

    repository_dir: Path
    home_dir: Path
    tmp_dir: Path


@asynccontextmanager
async def open_scratch(tree: Path, session_id: str) -> AsyncGenerator[Scratch]:
    """Lay a tree out in a fresh folder that only this user can read; removed at the end.

    Raises:
        DataError: The tree cannot be laid out.
    """
    root = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp, None, f"hil-mcp-{session_id}-"))
    scratch = Scratch(repository_dir=root / "app", home_dir=root / "home", tmp_dir=root / "tmp")
    try:
        await anyio.to_thread.run_sync(lay_out, tree, scratch.repository_dir)
        scratch.home_dir.mkdir()
        scratch.tmp_dir.mkdir()
        yield scratch
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(remove_tree, root)


def remove_tree(root: Path) -> None:
    """Remove a folder, also where folders without write permission were left in it."""

    # The owner can give the permission back.
    def unlock_and_retry(function: object, path: str, _: object) -> None:
        parent = Path(path).parent
        parent.chmod(0o700)
        if Path(path).is_dir() and not Path(path).is_symlink():
            Path(path).chmod(0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink(missing_ok=True)

    shutil.rmtree(root, onerror=unlock_and_retry)
