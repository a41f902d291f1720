"""A run on a machine whose ports are all taken, and again when they are free.

Started in a network name space of its own (`unshare -n`), where the range of ports can be made
small without anybody else noticing. Prints the outcomes of both, a line each.

Usage: python -m tests.support.crowded_ports PROGRAM FOLDER
"""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
import sys
from contextlib import ExitStack
from pathlib import Path

import anyio

from tests.support.runs import carry_out, resumed, run_options
from tests.support.scripted_model import Call, Turn, model_endpoint, play

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # ioctls and flag of netdevice(7)


def main(program: Path, folder: Path) -> None:
    """Take every port, run, give them back, resume."""
    _loopback_up()
    submits = play(Turn(calls=(Call("submit_sql", {"query": "SELECT 1"}),)))
    with model_endpoint(submits) as model:
        _RANGE.write_text("40000 40127")
        options = run_options(program, folder, model.url)
        with ExitStack() as taken:
            _take_all(taken)
            crowded = anyio.run(carry_out, options)
        free = anyio.run(carry_out, resumed(options))
    print(*(record.outcome for record in crowded.tries), crowded.tries[0].detail)
    print(*(record.outcome for record in free.tries))


def _take_all(taken: ExitStack) -> None:
    while True:
        listener = taken.enter_context(socket.socket())
        try:
            listener.bind(("127.0.0.1", 0))
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                return
            raise
        listener.listen()


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, _GET_FLAGS, request))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
