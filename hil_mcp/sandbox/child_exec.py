"""One command as a child of this process: what `local` and `bubblewrap` have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from clients.process import OutputSink, start_child
from hil_mcp.sandbox.errors import SandboxGoneError, SandboxTimeoutError
from hil_mcp.sandbox.sandbox import ExecResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from clients.process import Child

_NOT_FOUND = 127
_SIGNAL_BASE = 128
_LAST_WORDS_S = 0.3
"""How long output is still read once the command has ended and what it left has not."""


class _ForwardingSink(OutputSink):
    """Keeps the start of a stream and passes all of it on."""

    def __init__(self, limit_bytes: int, forward: Callable[[bytes], None]) -> None:
        super().__init__(limit_bytes)
        self._forward = forward

    def take(self, chunk: bytes) -> None:
        self._forward(chunk)
        super().take(chunk)


async def exec_child(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout_s: float,
    limit_bytes: int,
    stdin: bytes,
    on_stdout: Callable[[bytes], None] | None,
) -> ExecResult:
    """Run one command as `Sandbox.exec` promises.

    Raises:
        SandboxTimeoutError: `timeout_s` passed; the command has been killed.
        SandboxGoneError: `cwd` is no longer there.
    """
    stdout = _ForwardingSink(limit_bytes, on_stdout) if on_stdout else OutputSink(limit_bytes)
    stderr = OutputSink(limit_bytes)
    try:
        child = await start_child(command, env=env, cwd=cwd)
    except (FileNotFoundError, PermissionError) as exc:
        if not await anyio.Path(cwd).is_dir():
            raise SandboxGoneError(f"the sandbox's folder {cwd} is gone") from exc
        text = f"{command[0]}: not found or not executable\n".encode()
        return ExecResult(status=_NOT_FOUND, stdout=b"", stderr=text, truncated=False)
    status: int | None = None
    async with child:
        with anyio.move_on_after(timeout_s):
            status = await _run(child, stdin, stdout, stderr)
    out, err = stdout.output(), stderr.output()
    if status is None:
        raise SandboxTimeoutError(timeout_s, out.data, err.data)
    return ExecResult(
        status=status if status >= 0 else _SIGNAL_BASE - status,
        stdout=out.data,
        stderr=err.data,
        truncated=out.is_cut or err.is_cut,
    )


async def _run(child: Child, stdin: bytes, stdout: OutputSink, stderr: OutputSink) -> int:
    status = 0
    async with anyio.create_task_group() as tasks:
        done = [anyio.Event(), anyio.Event()]
        tasks.start_soon(_drain, child.drain_stdout, stdout, done[0])
        tasks.start_soon(_drain, child.drain_stderr, stderr, done[1])
        tasks.start_soon(child.send, stdin)
        status = await child.wait()
        # What it left behind may hold the pipes open; its own last words are there already.
        with anyio.move_on_after(_LAST_WORDS_S):
            for event in done:
                await event.wait()
        tasks.cancel_scope.cancel()
    return status


async def _drain(
    drain: Callable[[OutputSink], Awaitable[None]], sink: OutputSink, done: anyio.Event
) -> None:
    await drain(sink)
    done.set()
