"""`bubblewrap`: Linux namespaces without a daemon.

The repository, a home and a temporary folder are writable; of this machine only its system folders
are seen, read-only. There is no network, no other process, no other user's file. CPU, memory and
disk are not limited: `docker` does that.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hil_mcp.errors import SandboxError
from hil_mcp.sandbox.child_exec import exec_child
from hil_mcp.sandbox.health import check_health
from hil_mcp.sandbox.scratch import open_scratch
from hil_mcp.sandbox.system_view import (
    NAMESPACES,
    SYSTEM_FOLDERS,
    kernel_files,
    shown,
    system_files,
)
from hil_mcp.settings import find_program, search_path

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from hil_mcp.sandbox.sandbox import ExecResult
    from hil_mcp.sandbox.scratch import Scratch

WORKING_DIR = "/app"


class BubblewrapSandbox:
    """Keeps the contract of `Sandbox` with one `bwrap` for each command."""

    def __init__(self, scratch: Scratch, program: str, protected: Sequence[Path]) -> None:
        """Run commands on `scratch` through the program `bwrap`, with `protected` hidden."""
        self._scratch = scratch
        self._prefix = [program, *_arguments(scratch, protected)]

    @property
    def working_dir(self) -> str:
        """Where the repository is seen."""
        return WORKING_DIR

    async def exec(
        self,
        command: Sequence[str],
        *,
        timeout_s: float,
        limit_bytes: int,
        stdin: bytes = b"",
        on_stdout: Callable[[bytes], None] | None = None,
    ) -> ExecResult:
        """See `Sandbox.exec`. The process namespace ends with the command and all that is in it."""
        return await exec_child(
            [*self._prefix, "--", "sh", "-c", 'exec "$@"', "sh", *command],
            env={"PATH": search_path()},
            cwd=self._scratch.repository_dir,
            timeout_s=timeout_s,
            limit_bytes=limit_bytes,
            stdin=stdin,
            on_stdout=on_stdout,
        )


def _arguments(scratch: Scratch, protected: Sequence[Path]) -> list[str]:
    arguments = [*NAMESPACES, "--unshare-net", "--clearenv"]
    for path in SYSTEM_FOLDERS:
        arguments += shown(path)
    arguments += system_files()
    for path in protected:
        if any(path.is_relative_to(system) for system in SYSTEM_FOLDERS):
            arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]
    arguments += kernel_files()
    for source, target in (
        (scratch.repository_dir, WORKING_DIR),
        (scratch.home_dir, "/home/user"),
        (scratch.tmp_dir, "/tmp"),  # noqa: S108  # the sandbox's own
    ):
        arguments += ["--bind", str(source), target]
    for name, value in (
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", "/home/user"),
        ("LANG", "C.UTF-8"),
    ):
        arguments += ["--setenv", name, value]
    return [*arguments, "--chdir", WORKING_DIR]


@asynccontextmanager
async def open_bubblewrap(
    tree: Path, *, session_id: str, protected: Sequence[Path] = ()
) -> AsyncGenerator[BubblewrapSandbox]:
    """Lay a tree out for the time of the context and guard it with `bwrap`.

    Args:
        tree: The source tree, a folder or a tar.
        session_id: Part of the scratch folder's name.
        protected: Folders that must not be seen even where they lie in a system folder, such as
            this package when it is installed for all users.

    Raises:
        DataError: The tree cannot be laid out.
        SandboxError: There is no `bwrap`, or this machine does not let it make namespaces.
    """
    program = find_program("bwrap")
    if program is None:
        raise SandboxError(
            "sandbox bubblewrap needs the program 'bwrap' (package bubblewrap): install it, or "
            "choose --sandbox docker"
        )
    async with open_scratch(tree, session_id) as scratch:
        sandbox = BubblewrapSandbox(scratch, program, protected)
        await check_health(sandbox, name="bubblewrap")
        yield sandbox
