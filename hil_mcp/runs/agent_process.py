"""The agent's program while it runs: its output kept as it comes, its limits held from outside.

Agents retry a dead endpoint for ever, compact an overflowing context without end, or wait for a
person who never comes: none of their own limits is relied on.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import anyio

from clients.errors import ClientError
from clients.process import start_child
from hil_mcp.runs.outcome import Ending

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from clients.process import Child

OUTPUT_LIMIT_BYTES = 200_000_000
"""Cap on each of the agent's streams; what goes beyond is read and dropped."""
_POLL_S = 0.5
_LAST_WORDS_S = 2.0
"""How long the streams of an ended agent may still be held open by what it left running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCommand:
    """What is started, and where its output goes."""

    command: Sequence[str]
    environment: Mapping[str, str]
    stdin: str
    cwd: Path
    stdout_path: Path
    stderr_path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd:
    """How the program ended; no exit status when we killed it."""

    ending: Ending
    exit_status: int | None


class Leash:
    """Ends an agent at the first limit that is reached."""

    def __init__(self, *, time_limit_s: float, idle_limit_s: float) -> None:
        """Limit the whole run, and the time without any sign of life, in seconds."""
        self._time_limit_s = time_limit_s
        self._idle_limit_s = idle_limit_s
        self._scope = anyio.CancelScope()
        self._ending: Ending | None = None

    def pull(self, ending: Ending) -> None:
        """End the agent now; a second limit changes nothing."""
        if self._ending is None:
            self._ending = ending
            self._scope.cancel()

    async def hold(self, child: Child, *, signs: Callable[[], object]) -> AgentEnd:
        """Wait for the program's end, or bring it about.

        Args:
            child: The program.
            signs: What changes with every sign of life; None while a wait is somebody else's.
        """
        status: int | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, signs)
            with self._scope:
                status = await child.wait()
            tasks.cancel_scope.cancel()
        # A program that ended before the leash was felt has ended by itself.
        by_itself = status is not None or self._ending is None
        ending = Ending.BY_ITSELF if by_itself else self._ending
        return AgentEnd(ending=ending or Ending.BY_ITSELF, exit_status=status)

    async def _watch(self, signs: Callable[[], object]) -> None:
        started = quiet_since = anyio.current_time()
        last = signs()
        while True:
            await anyio.sleep(_POLL_S)
            now, seen = anyio.current_time(), signs()
            if seen is None or seen != last:
                last, quiet_since = seen, now
            if now - started >= self._time_limit_s:
                self.pull(Ending.TIME_LIMIT)
            elif now - quiet_since >= self._idle_limit_s:
                self.pull(Ending.IDLE_LIMIT)


async def run_agent(
    agent: AgentCommand, leash: Leash, *, signs: Callable[[], object | None]
) -> AgentEnd:
    """Run an agent's program to its end; nothing of its process group is left running.

    Args:
        agent: What to start.
        leash: Its limits.
        signs: What changes with every sign of life beside its output; None while the agent waits
            for its model, whose time is limited elsewhere.

    Raises:
        ClientError: The program cannot be started.
        OSError: Its output cannot be written.
    """
    with ExitStack() as files:
        stdout = files.enter_context(_OutputFile(agent.stdout_path))
        stderr = files.enter_context(_OutputFile(agent.stderr_path))

        def all_signs() -> object | None:
            if stdout.error or stderr.error:
                leash.pull(Ending.BY_ITSELF)
            beside = signs()
            return None if beside is None else (beside, stdout.n_bytes, stderr.n_bytes)

        async with await _start(agent) as child:
            end = await _hold(child, agent, leash, stdout, stderr, all_signs)
        error = stdout.error or stderr.error
    if error is not None:
        raise error
    return end


async def _start(agent: AgentCommand) -> Child:
    try:
        return await start_child(agent.command, env=agent.environment, cwd=agent.cwd)
    except OSError as exc:
        raise ClientError(f"{agent.command[0]}: cannot be started: {exc.strerror}") from exc


async def _hold(
    child: Child,
    agent: AgentCommand,
    leash: Leash,
    stdout: _OutputFile,
    stderr: _OutputFile,
    signs: Callable[[], object | None],
) -> AgentEnd:
    end: AgentEnd | None = None
    async with anyio.create_task_group() as streams:
        drained = anyio.Event()
        streams.start_soon(child.send, agent.stdin.encode())
        streams.start_soon(_drain, child, stdout, stderr, drained)
        end = await leash.hold(child, signs=signs)
        if end.exit_status is not None:
            with anyio.move_on_after(_LAST_WORDS_S):
                await drained.wait()
        streams.cancel_scope.cancel()
    assert end is not None  # noqa: S101  # the group lets every error through
    return end


async def _drain(
    child: Child, stdout: _OutputFile, stderr: _OutputFile, drained: anyio.Event
) -> None:
    async with anyio.create_task_group() as both:
        both.start_soon(child.drain_stdout, stdout)
        both.start_soon(child.drain_stderr, stderr)
    drained.set()


class _OutputFile:
    """One stream of an agent, on disk as it comes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self.n_bytes = 0
        self.error: OSError | None = None

    def __enter__(self) -> Self:
        self._file = self._path.open("xb")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def take(self, chunk: bytes) -> None:
        """Keep what still fits; a disk that takes no more is remembered."""
        room = max(0, OUTPUT_LIMIT_BYTES - self.n_bytes)
        self.n_bytes += len(chunk)
        if self._file is None or not room or self.error is not None:
            return
        try:
            self._file.write(chunk[:room])
            self._file.flush()
        except OSError as exc:
            self.error = exc
