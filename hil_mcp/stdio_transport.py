"""The protocol's messages over stdin and stdout, one a line, without worker threads.

The SDK's own transport hands each line to a thread and back, six hand-overs a call; waiting for the
descriptors on the event loop costs a fraction of that (docs/decisions.md). For POSIX: elsewhere
pipes cannot be waited for.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import sys
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from hil_mcp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_READ_BYTES = 65_536


class MessageReader(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages that come in, for one task at a time."""

    def __init__(self, descriptor: int) -> None:
        """Read a descriptor, which stays its opener's to close."""
        self._descriptor = descriptor
        self._readable = select.poll()
        self._readable.register(descriptor, select.POLLIN)
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []  # pieces of a line whose end has not come
        self._is_ended = False

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or what is wrong with a line that holds none.

        Raises:
            EndOfStream: The agent has closed its end.
        """
        while not self._lines:
            if self._is_ended:
                raise anyio.EndOfStream
            self._take(await self._read())
        # A byte that is no UTF-8 spoils its character and not the call that it stands in.
        line = self._lines.popleft().decode(errors="replace")
        try:
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValidationError as exc:
            return exc

    async def aclose(self) -> None:
        """Take nothing more in."""
        self._lines.clear()
        self._is_ended = True

    async def _read(self) -> bytes:
        # Asked first: a file, which is always readable, cannot be waited for.
        if not self._readable.poll(0):
            await anyio.wait_readable(self._descriptor)
        try:
            return os.read(self._descriptor, _READ_BYTES)
        except OSError:  # the agent's end was torn off
            return b""

    def _take(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._begun.append(first)
        if others:
            *whole, begun = others
            self._lines.append(b"".join(self._begun))
            self._lines.extend(whole)
            self._begun = [begun]
        elif not data:
            self._is_ended = True
            last = b"".join(self._begun)
            if last:
                self._lines.append(last)


class MessageWriter(ObjectSendStream[SessionMessage]):
    """The messages that go out, each whole and in order."""

    def __init__(self, descriptor: int) -> None:
        """Write to a descriptor, which stays its opener's to close."""
        self._descriptor = descriptor
        self._writable = select.poll()
        self._writable.register(descriptor, select.POLLOUT)
        self._turn = anyio.Lock(fast_acquire=True)
        self._unsent = bytearray()

    async def send(self, item: SessionMessage) -> None:
        """Write one message; waits while the agent does not read.

        Cancelled, it leaves the rest of its line to the next message: never half a line.

        Raises:
            BrokenResourceError: The agent has closed its end.
        """
        self._unsent += _line(item.message)
        async with self._turn:
            while self._unsent:
                if not self._writable.poll(0):
                    await anyio.wait_writable(self._descriptor)
                # As much as a pipe that can be written to takes without holding up the event loop.
                part = self._unsent[: select.PIPE_BUF]
                try:
                    written = os.write(self._descriptor, part)
                except OSError as exc:
                    self._unsent.clear()
                    raise anyio.BrokenResourceError from exc
                del self._unsent[:written]

    async def aclose(self) -> None:
        """Nothing to do: a message is written when `send` returns."""


@contextmanager
def stdio_streams() -> Generator[tuple[MessageReader, MessageWriter]]:
    """Keep stdin and stdout for the protocol until the block ends.

    Meanwhile stdin is empty and stdout is stderr for everything else in this process and for its
    children, so that a stray print or a child that reads cannot disturb the protocol.

    Raises:
        ConfigError: One of the two is closed.
    """
    if sys.stdin is None or sys.stdout is None:
        raise ConfigError(
            "serve without --http speaks over stdin and stdout: one of them is closed"
        )
    incoming = fcntl.fcntl(_STDIN, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)
    outgoing = fcntl.fcntl(_STDOUT, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, _STDIN)
    os.dup2(nothing if sys.stderr is None else _STDERR, _STDOUT)
    os.close(nothing)
    try:
        yield MessageReader(incoming), MessageWriter(outgoing)
    finally:
        sys.stdout.flush()
        os.dup2(incoming, _STDIN)
        os.dup2(outgoing, _STDOUT)
        os.close(incoming)
        os.close(outgoing)


def _line(message: types.JSONRPCMessage) -> bytes:
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except PydanticSerializationError:
        # A lone surrogate: UTF-8 has no form for it, JSON's escapes have.
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True))
    return text.encode() + b"\n"
