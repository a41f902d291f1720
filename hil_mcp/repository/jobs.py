"""Commands that an agent runs: each is a job, and one that takes long goes on after its reply."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from hil_mcp.errors import SandboxError
from hil_mcp.repository.errors import RefusedError
from hil_mcp.repository.output_window import OutputWindow
from hil_mcp.sandbox.errors import SandboxTimeoutError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from anyio.abc import TaskGroup

    from hil_mcp.sandbox.sandbox import Sandbox

_MOST_RUNNING = 8
_MOST_KEPT = 100


class Job:
    """One command, running or ended."""

    def __init__(self, number: int, timeout_s: float) -> None:
        """Describe a job that is about to start."""
        self.number = number
        self.output = OutputWindow()
        self._timeout_s = timeout_s
        self._started = anyio.current_time()
        self._ended: float | None = None
        self._how = ""
        self._error: SandboxError | None = None
        self._done = anyio.Event()
        self._scope = anyio.CancelScope()

    @property
    def is_running(self) -> bool:
        """Whether the command has not ended."""
        return not self._done.is_set()

    async def wait(self, within_s: float) -> None:
        """Wait until the command ends, and no longer than `within_s`."""
        with anyio.move_on_after(within_s):
            await self._done.wait()

    async def stop(self) -> None:
        """Kill the command and wait until it is gone."""
        self._how = "stopped"
        self._scope.cancel()
        await self._done.wait()

    def report(self) -> str:
        """The output and how the command ended, or that it has not.

        Raises:
            SandboxError: The sandbox broke under the command.
        """
        if self._error is not None:
            raise self._error
        ran_s = (self._ended or anyio.current_time()) - self._started
        state = self._how
        if self.is_running:
            state = (
                f"still running after {ran_s:.0f} s as job {self.number}; "
                f"command_output with job={self.number} shows more"
            )
        output = self.output.text()
        gap = "" if not output or output.endswith("\n") else "\n"
        return f"{output}{gap}({state})"

    async def run(self, sandbox: Sandbox, command: Sequence[str]) -> None:
        """Run the command to its end; never raises for what happens to it."""
        try:
            with self._scope:
                result = await sandbox.exec(
                    command,
                    timeout_s=self._timeout_s,
                    limit_bytes=0,
                    on_stdout=self.output.take,
                )
                self._how = f"exit status {result.status}"
        except SandboxTimeoutError:
            self._how = f"killed after {self._timeout_s:g} s"
        except SandboxError as exc:
            self._error = exc
        finally:
            self._ended = anyio.current_time()
            self._done.set()


class Jobs:
    """The commands of one session."""

    def __init__(self, sandbox: Sandbox, tasks: TaskGroup) -> None:
        """Run commands in `sandbox` under `tasks`."""
        self._sandbox = sandbox
        self._tasks = tasks
        self._jobs: dict[int, Job] = {}
        self._count = 0

    def start(self, command: Sequence[str], *, timeout_s: float) -> Job:
        """Start a command whose stdin is closed; stderr goes where stdout goes.

        Args:
            command: Program and arguments.
            timeout_s: When it is killed.

        Raises:
            RefusedError: Too many are running.
        """
        if sum(job.is_running for job in self._jobs.values()) >= _MOST_RUNNING:
            raise RefusedError(f"{_MOST_RUNNING} commands are running; wait for one or stop it")
        self._count += 1
        job = Job(self._count, timeout_s)
        self._jobs[job.number] = job
        for number in [n for n, old in self._jobs.items() if not old.is_running][:-_MOST_KEPT]:
            del self._jobs[number]
        merged = ["sh", "-c", 'exec "$@" 2>&1', "sh", *command]
        self._tasks.start_soon(job.run, self._sandbox, merged)
        return job

    def get(self, number: int) -> Job:
        """The job with this number.

        Raises:
            RefusedError: There is none, or it ended long ago.
        """
        job = self._jobs.get(number)
        if job is None:
            raise RefusedError(f"there is no job {number}")
        return job


@asynccontextmanager
async def open_jobs(sandbox: Sandbox) -> AsyncGenerator[Jobs]:
    """Jobs for the time of the context; those that still run are killed at its end."""
    async with anyio.create_task_group() as tasks:
        yield Jobs(sandbox, tasks)
        tasks.cancel_scope.cancel()
