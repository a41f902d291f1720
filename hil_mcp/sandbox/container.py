"""`docker`: a container without network, with limits, removed on every way out.

Commands run through the daemon's exec calls; nothing of this machine is mounted.
"""

from __future__ import annotations

import secrets
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, TypeVar

import anyio
import anyio.to_thread

from clients.process import OutputSink
from hil_mcp.errors import SandboxError
from hil_mcp.sandbox.docker import ContainerSpec, DockerDaemon, DockerLimits
from hil_mcp.sandbox.errors import SandboxGoneError, SandboxLimitError, SandboxTimeoutError
from hil_mcp.sandbox.health import check_health
from hil_mcp.sandbox.owner import owner_labels
from hil_mcp.sandbox.sandbox import ExecResult
from hil_mcp.sandbox.source_tree import lay_out, packed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from hil_mcp.sandbox.docker import ExecStream

_T = TypeVar("_T")

_USER_ID = 1000
_DISK_CHECK_INTERVAL_S = 5.0
_STATUS_LIMIT_S = 60.0
_STATUS_PAUSE_S = 0.05
_KILL_TIMEOUT_S = 10.0
# A root image's package managers and test runners change owners and drop to other users.
_ROOT_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID")

# Kills whatever carries the mark of one exec call: Docker has no call for that, and leaves running
# what a command has put into the background. A process between two programs shows neither
# environment nor command line, and one that forks and ends hands the mark on unseen: so two looks
# in a row must find nothing, and nothing that is between two programs (a zombie has no `exe`).
_SWEEP = """
quiet=0 looks=0
while [ $quiet -lt 2 ] && [ $looks -lt 200 ]; do
  quiet=$((quiet + 1)) looks=$((looks + 1))
  for f in $(grep -l "HIL_EXEC=$HIL_EXEC" /proc/[0-9]*/environ 2>/dev/null); do
    p=${f#/proc/}; p=${p%/environ}
    [ "$p" = $$ ] || { kill -9 "$p" 2>/dev/null && quiet=0; }
  done
  for f in $(grep -L "" /proc/[0-9]*/cmdline 2>/dev/null); do
    [ -e "${f%cmdline}exe" ] && quiet=0
  done
done
"""
_RUN_AND_SWEEP = f'"$@"; status=$?{_SWEEP}exit $status'


class DockerSandbox:
    """Keeps the contract of `Sandbox` with one container."""

    def __init__(
        self, daemon: DockerDaemon, container_id: str, working_dir: str, disk_bytes: int
    ) -> None:
        """Take over a running container."""
        self._daemon = daemon
        self.container_id = container_id
        self._working_dir = working_dir
        self._disk_bytes = disk_bytes
        self._over_limit: str | None = None
        self._threads = anyio.CapacityLimiter(64)

    @property
    def working_dir(self) -> str:
        """Where the repository is in the container."""
        return self._working_dir

    async def exec(
        self,
        command: Sequence[str],
        *,
        timeout_s: float,
        limit_bytes: int,
        stdin: bytes = b"",
        on_stdout: Callable[[bytes], None] | None = None,
    ) -> ExecResult:
        """See `Sandbox.exec`. A process that clears its environment escapes until the end."""
        self._refuse_over_limit()
        sinks = {"stdout": OutputSink(limit_bytes), "stderr": OutputSink(limit_bytes)}

        def take(stream: Literal["stdout", "stderr"], chunk: bytes) -> None:
            sinks[stream].take(chunk)
            if on_stdout is not None and stream == "stdout":
                on_stdout(chunk)

        mark = secrets.token_hex(8)
        # Not abandoned when the caller is cancelled: the command would have no owner.
        stream = await self._in_thread(lambda: self._start(command, mark, stdin))
        ended = False
        try:
            with anyio.move_on_after(timeout_s):
                await self._run(stream, stdin, take)
                ended = True
        finally:
            with anyio.CancelScope(shield=True):
                if not ended:
                    await self._kill(mark)
                stream.close()
        out, err = sinks["stdout"].output(), sinks["stderr"].output()
        if not ended:
            raise SandboxTimeoutError(timeout_s, out.data, err.data)
        return ExecResult(
            status=await self._status(stream.exec_id),
            stdout=out.data,
            stderr=err.data,
            truncated=out.is_cut or err.is_cut,
        )

    def _start(self, command: Sequence[str], mark: str, stdin: bytes) -> ExecStream:
        return self._daemon.start_command(
            self.container_id,
            ["sh", "-c", _RUN_AND_SWEEP, "sh", *command],
            environment={"HIL_EXEC": mark},
            has_stdin=bool(stdin),
        )

    async def _run(
        self,
        stream: ExecStream,
        stdin: bytes,
        take: Callable[[Literal["stdout", "stderr"], bytes], None],
    ) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_disk)
            if stdin:
                tasks.start_soon(self._abandonable, lambda: stream.write(stdin))
            await self._abandonable(lambda: stream.read(take))
            tasks.cancel_scope.cancel()

    async def _watch_disk(self) -> None:
        while True:
            await anyio.sleep(_DISK_CHECK_INTERVAL_S)
            await self._in_thread(self._stop_when_over)

    def _stop_when_over(self) -> None:
        if self._daemon.written_bytes(self.container_id) > self._disk_bytes:
            self._over_limit = f"it wrote more than {self._disk_bytes:,} bytes to the disk"
            self._daemon.remove_container(self.container_id)

    async def _kill(self, mark: str) -> None:
        def sweep() -> None:
            stream = self._daemon.start_command(
                self.container_id,
                ["sh", "-c", _SWEEP],
                environment={"HIL_EXEC": mark},
                has_stdin=False,
            )
            stream.read(lambda _stream, _chunk: None)
            stream.close()

        with suppress(SandboxError), anyio.move_on_after(_KILL_TIMEOUT_S):
            await self._abandonable(sweep)

    async def _status(self, exec_id: str) -> int:
        # The streams end a moment before the daemon has written the status down.
        with suppress(SandboxGoneError):  # said below, with the reason
            waiting_ends = anyio.current_time() + _STATUS_LIMIT_S
            while anyio.current_time() < waiting_ends:
                status = await self._in_thread(lambda: self._daemon.command_status(exec_id))
                if status is not None:
                    return status
                if not await self._in_thread(lambda: self._daemon.is_running(self.container_id)):
                    break
                await anyio.sleep(_STATUS_PAUSE_S)
        self._refuse_over_limit()
        raise SandboxGoneError(
            f"container {self.container_id[:12]} is gone while a command ran: it was killed from "
            "outside, or is over its limit of memory"
        )

    def _refuse_over_limit(self) -> None:
        if self._over_limit is not None:
            raise SandboxLimitError(f"the container was stopped: {self._over_limit}")

    async def _in_thread(self, call: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(call, limiter=self._threads)

    async def _abandonable(self, call: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._threads)


@asynccontextmanager
async def open_docker(
    daemon: DockerDaemon,
    image: str,
    *,
    session_id: str,
    tree: Path | None = None,
    working_dir: str = "/app",
    limits: DockerLimits | None = None,
) -> AsyncGenerator[DockerSandbox]:
    """Start a container for the time of the context; it is removed on every way out.

    Args:
        daemon: Where it runs.
        image: Name or id of an image that is there, with `sh`, `sleep`, `grep` and `git`.
        session_id: Its label, by which an orphan is found.
        tree: A source tree to lay out in `working_dir`; None when the image holds the repository.
        working_dir: Where the repository is, or is to be.
        limits: What it may use.

    Raises:
        SandboxError: The image is not there or does not start; names the way out.
        DataError: The tree cannot be laid out.
    """
    limits = limits or DockerLimits()
    declared = await anyio.to_thread.run_sync(daemon.image_user, image)
    if declared is None:
        raise SandboxError(
            f'Docker at {daemon.address} has no image {image}: see "hil-mcp tasks fetch"'
        )
    # A tree of ours belongs to a user of ours; an image's repository to whom the image says.
    is_root = tree is None and declared.partition(":")[0] in ("", "0", "root")
    user = declared if tree is None else f"{_USER_ID}:{_USER_ID}"
    spec = ContainerSpec(
        image=image,
        name=f"hil-mcp-{session_id}-{secrets.token_hex(4)}",
        user=user,
        working_dir=working_dir,
        labels=owner_labels(session_id),
        capabilities=_ROOT_CAPABILITIES if is_root else (),
        environment={} if tree is None else {"HOME": "/tmp"},  # noqa: S108  # the container's own
        limits=limits,
    )
    try:
        container_id = await anyio.to_thread.run_sync(daemon.start_container, spec)
        if tree is not None:
            archive = await anyio.to_thread.run_sync(_pack, tree, working_dir)
            await anyio.to_thread.run_sync(daemon.put, container_id, archive)
        sandbox = DockerSandbox(daemon, container_id, working_dir, limits.disk_bytes)
        await check_health(sandbox, name=f"docker ({image})")
        yield sandbox
    finally:
        # By name: a start that was cut short has one too.
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(daemon.remove_container, spec.name)


def _pack(tree: Path, working_dir: str) -> bytes:
    with TemporaryDirectory(prefix="hil-mcp-tree-") as folder:
        target = Path(folder) / "tree"
        lay_out(tree, target)
        return packed(target, under=working_dir, owner=_USER_ID)
