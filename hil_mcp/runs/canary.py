"""Listeners on this machine that nobody in a guarded cell should reach.

That somebody connects says little: a port of the same number may be open in the cell's own network.
Whoever got through says a word that only the probe was told.
"""

from __future__ import annotations

import secrets
import socket
import sys
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

LOOPBACK = "this machine's loopback"
ABSTRACT_SOCKETS = "this machine's abstract sockets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A port of loopback and an abstract Unix socket of this machine, and a word to say there."""

    tcp: socket.socket
    unix: socket.socket | None
    """None where the system has no such sockets."""
    port: int
    name: str
    word: str

    def reached_by(self) -> list[str]:
        """The networks by which the word came."""
        ways = ((self.tcp, LOOPBACK), (self.unix, ABSTRACT_SOCKETS))
        return [name for listener, name in ways if listener and self._was_told(listener)]

    def _was_told(self, listener: socket.socket) -> bool:
        listener.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    connection.setblocking(False)
                    if connection.recv(100) == self.word.encode():
                        return True
        return False


@contextmanager
def open_canary() -> Generator[Canary]:
    """Open the listeners for the time of the context."""
    name = f"hil-mcp-probe-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.socket())
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix: socket.socket | None = None
        if sys.platform == "linux":
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(f"\0{name}")
            unix.listen()
        port = int(tcp.getsockname()[1])
        yield Canary(tcp=tcp, unix=unix, port=port, name=name, word=secrets.token_hex(16))
