"""`local`: a temporary copy on this machine, with no protection at all.

For the demo and for tests. A command can read whatever this user can, the answers included, so
nothing measured here says anything about an agent.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hil_mcp.sandbox.child_exec import exec_child
from hil_mcp.sandbox.health import check_health
from hil_mcp.sandbox.scratch import open_scratch
from hil_mcp.settings import search_path

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from hil_mcp.sandbox.sandbox import ExecResult
    from hil_mcp.sandbox.scratch import Scratch

logger = logging.getLogger(__name__)


class LocalSandbox:
    """Keeps the contract of `Sandbox`, and no one out."""

    def __init__(self, scratch: Scratch) -> None:
        """Run commands in `scratch`."""
        self._scratch = scratch
        own_programs = str(Path(sys.executable).parent)
        self._env = {
            "PATH": os.pathsep.join([search_path(), own_programs]),
            "HOME": str(scratch.home_dir),
            "TMPDIR": str(scratch.tmp_dir),
            "LANG": "C.UTF-8",
        }

    @property
    def working_dir(self) -> str:
        """Absolute path of the temporary copy."""
        return str(self._scratch.repository_dir)

    async def exec(
        self,
        command: Sequence[str],
        *,
        timeout_s: float,
        limit_bytes: int,
        stdin: bytes = b"",
        on_stdout: Callable[[bytes], None] | None = None,
    ) -> ExecResult:
        """See `Sandbox.exec`. A process that leaves its group escapes the kill."""
        return await exec_child(
            command,
            env=self._env,
            cwd=self._scratch.repository_dir,
            timeout_s=timeout_s,
            limit_bytes=limit_bytes,
            stdin=stdin,
            on_stdout=on_stdout,
        )


@asynccontextmanager
async def open_local(tree: Path, *, session_id: str) -> AsyncGenerator[LocalSandbox]:
    """Copy a tree to a temporary folder for the time of the context.

    Args:
        tree: The source tree, a folder or a tar.
        session_id: Part of the folder's name.

    Raises:
        DataError: The tree cannot be laid out.
        SandboxError: Nothing runs in it.
    """
    logger.warning(
        "sandbox 'local' protects nothing: commands of the agent run on this machine as this user"
    )
    async with open_scratch(tree, session_id) as scratch:
        sandbox = LocalSandbox(scratch)
        await check_health(sandbox, name="local")
        yield sandbox
