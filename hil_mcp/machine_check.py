"""What this machine has for repository tasks: its sandboxes, and containers that nobody uses."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import anyio.to_thread

from hil_mcp.client_check import Check
from hil_mcp.errors import SandboxError
from hil_mcp.sandbox.bubblewrap import open_bubblewrap
from hil_mcp.sandbox.docker import DockerDaemon
from hil_mcp.sandbox.owner import find_orphans, remove_orphans

if TYPE_CHECKING:
    from hil_mcp.sandbox.opening import SandboxConfig

WAY_OUT = 'remove them with "hil-mcp doctor --remove-orphans"'


async def check_machine(config: SandboxConfig, *, remove: bool) -> tuple[Check, ...]:
    """Try each sandbox by running something in it, and look for orphans.

    Args:
        config: Where Docker is.
        remove: Remove the orphans that are found.
    """
    return (
        await _check_bubblewrap(),
        *await anyio.to_thread.run_sync(
            lambda: _check_docker(config.docker_address, remove=remove)
        ),
    )


async def _check_bubblewrap() -> Check:
    name = "sandbox bubblewrap"
    try:
        with TemporaryDirectory(prefix="hil-mcp-doctor-") as folder:
            async with open_bubblewrap(Path(folder), session_id="doctor"):
                return Check(name=name, passed=True, detail="a command ran in it")
    except SandboxError as exc:
        return Check(name=name, passed=None, detail=str(exc))


def _check_docker(address: str, *, remove: bool) -> tuple[Check, ...]:
    name = "sandbox docker"
    try:
        daemon = DockerDaemon(address)
    except SandboxError as exc:
        return (Check(name=name, passed=None, detail=str(exc)),)
    try:
        there = Check(name=name, passed=True, detail=f"a daemon answers at {address}")
        return (there, _check_orphans(daemon, remove=remove))
    finally:
        daemon.close()


def _check_orphans(daemon: DockerDaemon, *, remove: bool) -> Check:
    name = "containers without a server"
    orphans = remove_orphans(daemon) if remove else find_orphans(daemon)
    if not orphans:
        return Check(name=name, passed=True, detail="none")
    listed = ", ".join(f"{orphan.name} (session {orphan.session_id})" for orphan in orphans)
    if remove:
        return Check(name=name, passed=True, detail=f"removed {listed}")
    return Check(name=name, passed=False, detail=f"{listed}: {WAY_OUT}")
