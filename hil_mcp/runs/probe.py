"""The probe: before an agent is launched, something runs in its place and tries to get at it all.

A cell is trusted for what the probe could not do in it, not for how it was made.
"""

from __future__ import annotations

import json
import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, ValidationError

from clients.process import run_child
from hil_mcp.errors import IsolationError, SandboxError
from hil_mcp.runs.canary import open_canary
from hil_mcp.runs.programs import base_python

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clients.process import ChildResult
    from hil_mcp.runs.cell import Cell
    from hil_mcp.runs.isolation import IsolationConfig

PROBE_NAME = "hil-mcp-probe"
"""How the probe calls itself at the session's server (it stands in its script too)."""
_SCRIPT = Path(__file__).with_name("probe_script.py")
_N_ENTRIES = 1000
"""How many entries of each protected folder are tried, those near its top first: a folder that
cannot be listed may hold a file that can be read."""
_OUTPUT_LIMIT_BYTES = 1_000_000
# Whoever reaches Docker can read any file of this machine.
_SOCKETS = ("/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock")

OUTSIDE = "a route to the outside"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    """What could be done in a cell."""

    readable: tuple[str, ...]
    """One path for each protected one of which something can be read; also what of the runner's
    process can be, and sockets that give access to all files. Empty is good."""
    networks: tuple[str, ...]
    """What of the network can be reached beside session and model. Empty is good."""
    tools: tuple[str, ...] | None
    """The session's tools; None when it could not be asked."""
    missing_tools: tuple[str, ...]
    """Those expected and not offered."""
    session_error: str | None
    """Why the session could not be asked."""
    model_error: str | None
    """Why the model's address could not be reached."""

    def fault(self) -> str | None:
        """Why an agent in this cell could not do its work, or None; never the agent's doing."""
        if self.session_error is not None:
            return f"the session cannot be reached from the cell: {self.session_error}"
        if self.missing_tools:
            return f"the session does not offer {', '.join(self.missing_tools)} in the cell"
        if self.model_error is not None:
            return f"the model cannot be reached from the cell: {self.model_error}"
        return None


class _Said(BaseModel):
    """The report of `probe_script.py`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    readable: tuple[str, ...]
    has_route: bool
    tools: tuple[str, ...] | None
    session_error: str | None
    model_error: str | None


async def probe(
    cell: Cell,
    *,
    protected: Sequence[Path],
    programs: Sequence[Path] = (),
    session_url: str,
    token: str,
    model_url: str | None,
    expected_tools: Sequence[str],
    env: Mapping[str, str],
    limit_s: float,
) -> ProbeReport:
    """Run as the agent, in its cell and with its environment, and try.

    Args:
        cell: Its two listeners are being served.
        protected: What must not be readable.
        programs: What may be, also below a protected folder.
        session_url: The session's address as the agent has it.
        token: The session's.
        model_url: The model's address as the agent has it; None when there is none.
        expected_tools: What the session must offer.
        env: The agent's environment.
        limit_s: Longest run, in seconds.

    Raises:
        SandboxError: The probe did not run to its end.
    """
    allowed = (*programs, cell.home, cell.workspace)
    paths = await anyio.to_thread.run_sync(_entries, protected, allowed)
    with open_canary() as canary:
        request: dict[str, object] = {
            "paths": paths,
            "pid": os.getpid(),
            "started": _start_time(),
            "sockets": _SOCKETS,
            "port": canary.port,
            "name": canary.name,
            "word": canary.word,
            "session_url": session_url,
            "token": token,
            "model": _address(model_url),
        }
        said = await _run(cell, json.dumps(request).encode(), env=env, limit_s=limit_s)
        networks = [*canary.reached_by(), *([OUTSIDE] if said.has_route else [])]
    offered = said.tools or ()
    return ProbeReport(
        readable=said.readable,
        networks=tuple(networks),
        tools=said.tools,
        missing_tools=tuple(name for name in expected_tools if name not in offered),
        session_error=said.session_error,
        model_error=said.model_error,
    )


def refuse(report: ProbeReport, config: IsolationConfig) -> None:
    """Refuse a cell that keeps less than its kind says. `none` promises nothing and is let be.

    Raises:
        IsolationError: Names what was got at, and the way out.
    """
    if config.kind == "none":
        return
    got = list(report.readable) + ([] if config.kind == "user" else list(report.networks))
    if got:
        raise IsolationError(
            f"isolation {config.name} does not hold: the agent can get at {', '.join(got)}; "
            "take the rights away (chmod, another folder, another user), choose --isolation "
            "bubblewrap, or say --isolation none and have the figures marked so"
        )


async def _run(cell: Cell, request: bytes, *, env: Mapping[str, str], limit_s: float) -> _Said:
    text = _SCRIPT.read_text(encoding="utf-8")
    # Ours first; another user may not be let into the folder where it is.
    result: ChildResult | None = None
    for python in dict.fromkeys((str(base_python()), "/usr/bin/python3")):
        result = await run_child(
            cell.command([python, "-I", "-S", "-c", text]),
            env=env,
            cwd=cell.workspace,
            timeout_s=limit_s,
            limit_bytes=_OUTPUT_LIMIT_BYTES,
            stdin=request,
        )
        if result.status == 0:
            with suppress(ValidationError):
                return _Said.model_validate_json(result.stdout.data)
        if result.timed_out:
            break
    assert result is not None  # noqa: S101  # one interpreter was tried
    reason = result.stderr.data.decode(errors="replace").strip()
    ended = f"it did not end in {limit_s:g} s" if result.timed_out else f"status {result.status}"
    raise SandboxError(f"the probe of the agent's cell failed: {reason or ended}")


def _entries(
    protected: Sequence[Path], allowed: Sequence[Path]
) -> list[tuple[str, str, tuple[int, int]]]:
    """What the probe tries to read, with what tells it from something else in its place."""
    real_allowed = {path.resolve() for path in allowed}
    found: list[tuple[str, str, tuple[int, int]]] = []
    for top in protected:
        left, n_left = deque([top.resolve()]), _N_ENTRIES
        while left and n_left > 0:
            path = left.popleft()
            if path in real_allowed:
                continue
            with suppress(OSError):  # gone since, or not even ours to look into
                status = path.stat()
                found.append((str(top), str(path), (status.st_dev, status.st_ino)))
                n_left -= 1
                if path.is_dir():
                    left.extend(child for child in path.iterdir() if not child.is_symlink())
    return found


def _start_time() -> str:
    with suppress(OSError):
        return Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    return ""  # a system without `/proc`: there is nothing to be read in it


def _address(url: str | None) -> tuple[str, int] | None:
    if url is None:
        return None
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
