"""Child processes: started in a group of their own, read up to a limit, always killed whole.

The one module that starts programs. It knows nothing of agents, databases or tests: who needs a
program gives the command, the environment and the limits.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import ByteReceiveStream, Process

logger = logging.getLogger(__name__)

_CHUNK_BYTES = 65_536
_SWEEP_LIMIT_S = 10.0
_SWEEP_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a child wrote to one stream."""

    data: bytes
    is_cut: bool
    """The child wrote more than the limit; the rest was dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildResult:
    """How one child ended."""

    status: int | None
    """Exit status, negative for a signal; None when the time ran out and it was killed."""
    stdout: Output
    stderr: Output

    @property
    def timed_out(self) -> bool:
        """Whether it was killed because its time ran out."""
        return self.status is None


class Sink(Protocol):
    """Takes what a child writes."""

    def take(self, chunk: bytes) -> None:
        """Take the next piece, in order. Never raises."""
        ...


class OutputSink:
    """Collects one stream of a child up to a limit."""

    def __init__(self, limit_bytes: int) -> None:
        """Keep at most `limit_bytes`."""
        self._limit_bytes = limit_bytes
        self._data = bytearray()
        self._is_cut = False

    def take(self, chunk: bytes) -> None:
        """Keep what of `chunk` still fits."""
        room = self._limit_bytes - len(self._data)
        self._data += chunk[:room]
        self._is_cut = self._is_cut or len(chunk) > room

    def output(self) -> Output:
        """What came so far."""
        return Output(data=bytes(self._data), is_cut=self._is_cut)


class Child:
    """One running program and every process that it started. Use as a context manager, or `end`."""

    def __init__(self, process: Process) -> None:
        """Take over a process that leads its own session."""
        self._process = process

    @property
    def pid(self) -> int:
        """Process id, and id of the process group."""
        return self._process.pid

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def send(self, data: bytes) -> None:
        """Write `data` to the child's stdin and close it. A child that is gone is no error."""
        stdin = self._process.stdin
        if stdin is None:
            return
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stdin.send(data)
            await stdin.aclose()

    async def read_stdout(self, *, limit_bytes: int) -> Output:
        """Read stdout to its end and keep the first `limit_bytes` of it."""
        kept = OutputSink(limit_bytes)
        await self.drain_stdout(kept)
        return kept.output()

    async def receive(self) -> bytes:
        """The next piece of stdout; empty at its end."""
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            if self._process.stdout is not None:
                return await self._process.stdout.receive(_CHUNK_BYTES)
        return b""

    async def drain_stdout(self, kept: Sink) -> None:
        """Read stdout to its end into `kept`, which has what came so far if this is cancelled."""
        await _drain(self._process.stdout, kept)

    async def drain_stderr(self, kept: Sink) -> None:
        """Read stderr to its end into `kept`, which has what came so far if this is cancelled."""
        await _drain(self._process.stderr, kept)

    async def wait(self) -> int:
        """Wait for the program itself; its exit status, negative for a signal."""
        return await self._process.wait()

    async def end(self) -> None:
        """Kill the whole process group, reap it and close the pipes. May be called again."""
        with anyio.CancelScope(shield=True):
            # Even when the leader has ended: what it started may still run in the group.
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            await self._process.aclose()


async def start_child(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    has_stderr: bool = True,
    descriptors: Sequence[int] = (),
) -> Child:
    """Start a program in a session of its own, with pipes for its streams.

    Args:
        command: Program and arguments; no shell reads them.
        env: The child's whole environment.
        cwd: Where it starts; here by default.
        has_stderr: Whether stderr is a pipe, or thrown away.
        descriptors: Open files that the child gets beside its streams, under the same numbers.

    Raises:
        OSError: The program cannot be started.
    """
    # Shielded: a start that is cancelled half-way would leave a child that nobody owns.
    process: Process | None = None
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            list(command),
            stderr=subprocess.PIPE if has_stderr else subprocess.DEVNULL,
            cwd=cwd,
            env=env,
            start_new_session=True,
            pass_fds=descriptors,
        )
    assert process is not None  # noqa: S101  # a shielded scope swallows nothing
    return Child(process)


async def run_child(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout_s: float,
    limit_bytes: int,
    stdin: bytes = b"",
    cwd: Path | None = None,
) -> ChildResult:
    """Run a program to its end; nothing of it is left when this returns.

    Args:
        command: Program and arguments; no shell reads them.
        env: The child's whole environment.
        timeout_s: Longest run, in seconds; then the group is killed.
        limit_bytes: Cap on each of stdout and stderr; what goes beyond is read and dropped, so
            that a talkative program is not held up.
        stdin: Written to the child, then its stdin is closed.
        cwd: Where it starts; here by default.

    Raises:
        OSError: The program cannot be started.
    """
    stdout, stderr = OutputSink(limit_bytes), OutputSink(limit_bytes)
    status: int | None = None
    async with await start_child(command, env=env, cwd=cwd) as child:
        with anyio.move_on_after(timeout_s):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(child.drain_stdout, stdout)
                tasks.start_soon(child.drain_stderr, stderr)
                tasks.start_soon(child.send, stdin)
            status = await child.wait()
    return ChildResult(status=status, stdout=stdout.output(), stderr=stderr.output())


async def end_marked(mark: str) -> None:
    """Kill every process of this machine whose environment has the entry `mark`.

    It finds what has left its process group, and not what has cleared its environment. Needs
    `/proc`; elsewhere it does nothing.

    Args:
        mark: `NAME=value`, as an environment holds it.
    """
    entry = mark.encode()
    quiet = 0
    with anyio.CancelScope(shield=True), anyio.move_on_after(_SWEEP_LIMIT_S) as limit:
        # Two looks in a row must find none: what forks and ends hands the mark on unseen.
        while quiet < 2:
            quiet = 0 if await anyio.to_thread.run_sync(_kill_marked, entry) else quiet + 1
            # The end of another process gives no event.
            await anyio.sleep(_SWEEP_PAUSE_S)
    if limit.cancelled_caught:
        logger.warning("processes marked %s are still there after %g s", mark, _SWEEP_LIMIT_S)


def _kill_marked(entry: bytes) -> int:
    """Kill what is marked; how many there were, with those that may yet turn out to be."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = path.read_bytes()
            if not environment:
                found += _is_between_programs(path.parent)
                continue
        except OSError:  # it has ended, or is another user's
            continue
        if entry in environment.split(b"\0") and (pid := int(path.parent.name)) != os.getpid():
            found += 1
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    return found


def _is_between_programs(process: Path) -> bool:
    """Whether a process is just taking up a new program and so shows no environment.

    It shows no command line either, as a zombie, whose `exe` cannot be read.
    """
    with suppress(OSError):
        return not (process / "cmdline").read_bytes() and bool((process / "exe").readlink())
    return False


async def _drain(stream: ByteReceiveStream | None, kept: Sink) -> None:
    with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
        while stream is not None:
            kept.take(await stream.receive(_CHUNK_BYTES))
