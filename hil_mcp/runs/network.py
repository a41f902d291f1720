"""A network of a cell's own, whose loopback this process can listen on.

A socket belongs to the network in which it was made, for as long as it lives. A small process makes
the network and its sockets and passes them here (unix(7), SCM_RIGHTS); what is served on them is
all that can be reached from inside.
"""

from __future__ import annotations

import socket
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from clients.process import OutputSink, start_child
from hil_mcp.errors import SandboxError
from hil_mcp.runs.programs import base_python
from hil_mcp.settings import find_program

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from clients.process import Child

_HOLDER = Path(__file__).with_name("network_holder.py")
_START_LIMIT_S = 20.0
_N_LISTENERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network with nothing in it but loopback."""

    session_listener: socket.socket
    model_listener: socket.socket
    enter: tuple[str, ...]
    """Put before a command, it runs the command in the network."""


@asynccontextmanager
async def open_network() -> AsyncGenerator[Network]:
    """Make a network for the time of the context.

    Raises:
        SandboxError: This machine does not let it, or has no `nsenter`.
    """
    nsenter = find_program("nsenter")
    if nsenter is None:
        raise SandboxError(
            "isolation bubblewrap needs the program 'nsenter' (package util-linux): install it"
        )
    here, there = socket.socketpair()
    with ExitStack() as stack:
        stack.enter_context(here)
        with there:
            child = await start_child(
                [str(base_python()), "-I", "-S", str(_HOLDER), str(there.fileno())],
                env={},
                descriptors=(there.fileno(),),
            )
        async with child:
            listeners = await _receive(here, child)
            for listener in listeners:
                stack.enter_context(listener)
            yield Network(
                session_listener=listeners[0],
                model_listener=listeners[1],
                enter=(nsenter, *_namespaces(child.pid), "--"),
            )


async def _receive(here: socket.socket, holder: Child) -> list[socket.socket]:
    here.settimeout(_START_LIMIT_S)
    try:
        _, descriptors, _, _ = await anyio.to_thread.run_sync(
            socket.recv_fds, here, 16, _N_LISTENERS
        )
    except TimeoutError:
        descriptors = []
    listeners = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    if len(listeners) == _N_LISTENERS:
        return listeners
    reason = OutputSink(10_000)
    with anyio.move_on_after(1):
        await holder.drain_stderr(reason)
    text = reason.output().data.decode(errors="replace").strip()
    raise SandboxError(
        f"isolation bubblewrap cannot be had here: {text or 'no network name space in time'}; "
        "let this user make name spaces (kernel.unprivileged_userns_clone, AppArmor), run as "
        "root, or choose --isolation user or none"
    )


def _namespaces(pid: int) -> list[str]:
    network = f"--net=/proc/{pid}/ns/net"
    own = Path(f"/proc/{pid}/ns/user")
    if own.readlink() == Path("/proc/self/ns/user").readlink():
        return [network]
    return [f"--user={own}", "--preserve-credentials", network]
