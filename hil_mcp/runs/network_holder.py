"""The process that holds a cell's network: a name space with nothing in it but loopback.

Run as a script by `hil_mcp.runs.network`, isolated and without site packages: the standard library
only, and nothing of ours. It makes the name space, binds sockets in it, sends them over the Unix
socket whose descriptor is its argument, and waits for the end of its stdin.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1
_N_LISTENERS = 2


def unshare_network() -> None:
    """Move this process into a network of its own; who may not do so needs a user name space too.

    Raises:
        OSError: The kernel, or this machine's rules, do not let it.
    """
    user_id, group_id = os.geteuid(), os.getegid()
    try:
        _unshare(_CLONE_NEWNET)
    except PermissionError:  # not root, or root in a container
        _unshare(_CLONE_NEWNET | _CLONE_NEWUSER)
        # user_namespaces(7): groups can be mapped only when they can no longer be set.
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user_id} {user_id} 1")
        Path("/proc/self/gid_map").write_text(f"{group_id} {group_id} 1")


def _unshare(flags: int) -> None:
    # `os.unshare` came with Python 3.12.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"no network name space: {os.strerror(number)}")


def bring_loopback_up() -> None:
    """Make 127.0.0.1 work; netdevice(7)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP))


def main() -> None:
    """Make the network, send its sockets, and stay until stdin ends."""
    try:
        unshare_network()
        bring_loopback_up()
    except OSError as exc:
        sys.exit(exc.strerror)
    listeners = [socket.socket() for _ in range(_N_LISTENERS)]
    for listener in listeners:
        listener.bind(("127.0.0.1", 0))
    with socket.socket(fileno=int(sys.argv[1])) as way_out:
        socket.send_fds(way_out, [b"bound"], [listener.fileno() for listener in listeners])
    # Whoever serves on them owns them now: a port must not stay bound here when it is closed.
    for listener in listeners:
        listener.close()
    sys.stdin.read()


if __name__ == "__main__":
    main()
