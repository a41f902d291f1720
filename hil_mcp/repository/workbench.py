"""The sandbox of one session with all that its tools need, started late and closed for certain.

An agent must not wait for a container before it sees its tools. So the tools are made first; the
sandbox starts when the agent has seen them or calls one, and calls wait for it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

from hil_mcp.errors import DataError, SandboxError
from hil_mcp.repository.base_tree import start_from_one_commit
from hil_mcp.repository.errors import RefusedError
from hil_mcp.repository.jobs import Jobs
from hil_mcp.sandbox.errors import SandboxGoneError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from anyio.abc import TaskGroup

    from hil_mcp.repository.base_tree import TreeId
    from hil_mcp.sandbox.sandbox import ExecResult, Sandbox

logger = logging.getLogger(__name__)

START_WAIT_S = 30.0
"""How long a call waits for the sandbox before its reply says that it is not there yet."""


class Workbench:
    """Keeps the contract of `Sandbox` for a sandbox that is still to be started."""

    def __init__(
        self,
        open_sandbox: Callable[[], AbstractAsyncContextManager[Sandbox]],
        *,
        start_wait_s: float = START_WAIT_S,
    ) -> None:
        """Prepare.

        Args:
            open_sandbox: Starts a sandbox with the task's repository.
            start_wait_s: How long a call waits for it.
        """
        self._open_sandbox = open_sandbox
        self._start_wait_s = start_wait_s
        self._sandbox: Sandbox | None = None
        self._base: TreeId | None = None
        self._asked_for = anyio.Event()
        self._settled = anyio.Event()
        self._closing = anyio.Event()
        self._closed = anyio.Event()
        self._tasks: TaskGroup | None = None
        self.jobs = Jobs(self, self._group)

    async def run(self) -> None:
        """Hold the sandbox for the life of the session, in a task of its own.

        Returns when `close` is called. A sandbox that does not start is told in the diagnostics,
        and every call then fails.
        """
        try:
            await self._asked_for.wait()
            if not self._closing.is_set():
                await self._hold()
        except (SandboxError, DataError):
            logger.exception("the session's sandbox did not start or broke")
        finally:
            self._sandbox = None
            self._settled.set()
            self._closed.set()

    async def _hold(self) -> None:
        async with self._open_sandbox() as sandbox:
            self._base = await start_from_one_commit(sandbox)
            async with anyio.create_task_group() as tasks:
                self._tasks, self._sandbox = tasks, sandbox
                self._settled.set()
                await self._closing.wait()
                tasks.cancel_scope.cancel()

    async def start(self) -> None:
        """Let the sandbox start, without waiting for it."""
        self._asked_for.set()

    async def close(self) -> None:
        """Kill what runs, remove the sandbox and wait until it is gone. `run` must be running."""
        self._closing.set()
        self._asked_for.set()
        with anyio.CancelScope(shield=True):
            await self._closed.wait()

    @property
    def working_dir(self) -> str:
        """Absolute path of the repository; known once a command has been run."""
        return self._opened().working_dir

    async def base(self) -> TreeId:
        """The tree that the agent began with."""
        await self._wait()
        self._opened()
        assert self._base is not None  # noqa: S101  # set before the sandbox is
        return self._base

    async def exec(
        self,
        command: Sequence[str],
        *,
        timeout_s: float,
        limit_bytes: int,
        stdin: bytes = b"",
        on_stdout: Callable[[bytes], None] | None = None,
    ) -> ExecResult:
        """See `Sandbox.exec`.

        Raises:
            RefusedError: The sandbox is still being started.
        """
        await self._wait()
        return await self._opened().exec(
            command,
            timeout_s=timeout_s,
            limit_bytes=limit_bytes,
            stdin=stdin,
            on_stdout=on_stdout,
        )

    async def _group(self) -> TaskGroup:
        await self._wait()
        self._opened()
        assert self._tasks is not None  # noqa: S101  # set with the sandbox
        return self._tasks

    async def _wait(self) -> None:
        self._asked_for.set()
        with anyio.move_on_after(self._start_wait_s):
            await self._settled.wait()
        if not self._settled.is_set():
            raise RefusedError("the repository is still being prepared; call again")

    def _opened(self) -> Sandbox:
        if self._sandbox is None:
            raise SandboxGoneError("the session's sandbox is not there")
        return self._sandbox
