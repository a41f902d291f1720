"""Whose a container is: labels that name the session and the process, and the search for orphans.

A server that is killed outright leaves its container running. Its labels say which process made
it, so that a later `hil-mcp doctor` knows what nobody uses any more.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hil_mcp.sandbox.docker import DockerDaemon

SESSION_LABEL = "hil-mcp.session"
_HOST_LABEL = "hil-mcp.host"
_PROCESS_LABEL = "hil-mcp.process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A container of ours whose process has ended."""

    container_id: str
    name: str
    session_id: str
    is_running: bool


def owner_labels(session_id: str) -> dict[str, str]:
    """What a container of this process is labelled with."""
    return {
        SESSION_LABEL: session_id,
        _HOST_LABEL: socket.gethostname(),
        _PROCESS_LABEL: _identity(os.getpid()) or str(os.getpid()),
    }


def find_orphans(daemon: DockerDaemon) -> tuple[Orphan, ...]:
    """Containers of this machine's hil-mcp whose process has ended; blocks on the daemon.

    Containers made from another host name, where the process cannot be looked up, are left out.

    Raises:
        SandboxError: The daemon does not answer.
    """
    return tuple(
        Orphan(
            container_id=entry.container_id,
            name=entry.name,
            session_id=entry.labels[SESSION_LABEL],
            is_running=entry.is_running,
        )
        for entry in daemon.list_containers(SESSION_LABEL)
        if _owner_has_ended(entry.labels)
    )


def remove_orphans(daemon: DockerDaemon) -> tuple[Orphan, ...]:
    """Remove what `find_orphans` finds; what was removed."""
    orphans = find_orphans(daemon)
    for orphan in orphans:
        daemon.remove_container(orphan.container_id)
    return orphans


def _owner_has_ended(labels: Mapping[str, str]) -> bool:
    if labels.get(_HOST_LABEL) != socket.gethostname():
        return False
    identity = labels.get(_PROCESS_LABEL, "")
    pid = identity.partition("@")[0]
    return not pid.isdigit() or _identity(int(pid)) != identity


def _identity(pid: int) -> str | None:
    # The start time tells a process from a later one with the same number; proc_pid_stat(5).
    stat = Path(f"/proc/{pid}/stat")
    if stat.exists():
        try:
            return f"{pid}@{stat.read_text().rpartition(')')[2].split()[19]}"
        except OSError:  # it has ended since
            return None
    if Path("/proc/self").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return str(pid)
