"""Output of a command that may be long: the start and the end are kept, the middle is counted."""

from __future__ import annotations

import threading

_HALF_BYTES = 4_000


class OutputWindow:
    """Takes pieces of output from any thread; `text` can be read at any time."""

    def __init__(self, half_bytes: int = _HALF_BYTES) -> None:
        """Keep `half_bytes` of the start and as many of the end."""
        self._half_bytes = half_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._total_bytes = 0
        self._lock = threading.Lock()

    def take(self, chunk: bytes) -> None:
        """Add a piece."""
        with self._lock:
            self._total_bytes += len(chunk)
            room = self._half_bytes - len(self._head)
            self._head += chunk[:room]
            self._tail += chunk[room:]
            del self._tail[: -self._half_bytes]

    def text(self) -> str:
        """What was kept, as UTF-8 with replacement, with a line in the middle for what was not."""
        with self._lock:
            head, tail, total_bytes = bytes(self._head), bytes(self._tail), self._total_bytes
        dropped = total_bytes - len(head) - len(tail)
        if not dropped:
            return (head + tail).decode("utf-8", "replace")
        note = f"\n[{dropped:,} of {total_bytes:,} bytes left out]\n"
        return head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")
