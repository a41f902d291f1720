"""The probe finds what an agent could get at, and a cell that does not hold is refused."""

from __future__ import annotations

import os
import re
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from hil_mcp.errors import SandboxError
from hil_mcp.runs.canary import ABSTRACT_SOCKETS, LOOPBACK
from hil_mcp.runs.isolation import IsolationConfig
from hil_mcp.runs.probe import ProbeReport, probe, refuse
from hil_mcp.runs.protected import protected_paths
from tests.support.cells import cell_config, opened_cell
from tests.support.served_session import served_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hil_mcp.runs.cell import IsolationKind

ENV = {"PATH": "/usr/bin:/bin"}
GOOD = ProbeReport(
    readable=(),
    networks=(),
    tools=("ask_human",),
    missing_tools=(),
    session_error=None,
    model_error=None,
)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user may enter."""
    with TemporaryDirectory(prefix="hil-mcp-probe-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


async def _probed(
    kind: IsolationKind,
    place: Path,
    protected: Sequence[Path],
    *,
    programs: Sequence[Path] = (),
    token: str = "right",
    expected_tools: Sequence[str] = ("ask_human",),
    serves_model: bool = True,
) -> ProbeReport:
    async with AsyncExitStack() as stack:
        cell = await stack.enter_async_context(
            opened_cell(kind, place / "cells" / "a", programs=programs, protected=protected)
        )
        url = await stack.enter_async_context(
            served_session(cell.session_listener, place / "asked", token="right")
        )
        if serves_model:
            cell.model_listener.listen()
        return await probe(
            cell,
            protected=protected,
            programs=programs,
            session_url=url,
            token=token,
            model_url=f"http://127.0.0.1:{cell.model_listener.getsockname()[1]}/v1",
            expected_tools=expected_tools,
            env=ENV,
            limit_s=60,
        )


def _secrets(place: Path) -> tuple[Path, Path]:
    home, token = place / "home", place / "token"
    (home / "sessions").mkdir(parents=True)
    home.chmod(0o700)
    for path in (home / "catalogue.db", home / "sessions" / "log", token):
        path.write_text("secret")
        path.chmod(0o600)
    return home, token


async def test_a_guarded_cell_gives_the_session_and_nothing_else(place: Path) -> None:
    home, token = _secrets(place)
    everything = protected_paths(home=home, run_dir=place / "run", secrets=[token])

    report = await _probed("bubblewrap", place, everything)

    assert report == GOOD
    assert report.fault() is None
    refuse(report, cell_config("bubblewrap"))


async def test_without_isolation_everything_is_found_and_nothing_refused(place: Path) -> None:
    home, token = _secrets(place)

    report = await _probed("none", place, [home, token])

    runner = {f"/proc/{os.getpid()}/environ", f"/proc/{os.getpid()}/root"}
    assert set(report.readable) >= {str(home), str(token), *runner}
    assert set(report.networks) >= {LOOPBACK, ABSTRACT_SOCKETS}
    assert report.tools == ("ask_human",)
    refuse(report, IsolationConfig(kind="none"))


async def test_another_user_cannot_read_files_and_the_open_network_is_reported(
    place: Path,
) -> None:
    home, token = _secrets(place)

    report = await _probed("user", place, [home, token])

    assert report.readable == ()
    assert set(report.networks) >= {LOOPBACK, ABSTRACT_SOCKETS}
    assert report.fault() is None
    refuse(report, cell_config("user"))


async def test_a_file_that_can_be_read_in_a_folder_that_cannot_be_listed_is_found(
    place: Path,
) -> None:
    home, _ = _secrets(place)
    home.chmod(0o711)
    (home / "sessions").chmod(0o700)
    (home / "catalogue.db").chmod(0o644)

    report = await _probed("user", place, [home])

    assert report.readable == (str(home / "catalogue.db"),)
    with pytest.raises(SandboxError, match=r"catalogue\.db; take the rights away"):
        refuse(report, cell_config("user"))


async def test_a_protected_folder_that_a_guarded_cell_shows_is_refused(place: Path) -> None:
    home, _ = _secrets(place)
    async with AsyncExitStack() as stack:
        cell = await stack.enter_async_context(
            opened_cell("bubblewrap", place / "cell", programs=[home])
        )
        url = await stack.enter_async_context(
            served_session(cell.session_listener, place / "asked", token="right")
        )
        report = await probe(
            cell,
            protected=[home],
            session_url=url,
            token="right",
            model_url=None,
            expected_tools=["ask_human"],
            env=ENV,
            limit_s=60,
        )

    assert report.readable == (str(home),)
    with pytest.raises(SandboxError, match="isolation bubblewrap does not hold"):
        refuse(report, cell_config("bubblewrap"))


async def test_a_program_below_a_protected_folder_is_no_finding(place: Path) -> None:
    home, _ = _secrets(place)
    program = home / "agents" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")

    report = await _probed("bubblewrap", place, [home], programs=[program.parent])

    assert report.readable == ()


async def test_a_network_that_can_be_reached_is_refused_but_for_another_user() -> None:
    report = ProbeReport(
        readable=(),
        networks=(LOOPBACK,),
        tools=(),
        missing_tools=(),
        session_error=None,
        model_error=None,
    )

    refuse(report, IsolationConfig(kind="user", user="agent"))
    with pytest.raises(SandboxError, match="this machine's loopback"):
        refuse(report, IsolationConfig(kind="bubblewrap"))


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"token": "wrong"}, "the session cannot be reached from the cell: .*401"),
        ({"expected_tools": ["ask_human", "submit_sql"]}, "does not offer submit_sql"),
        ({"serves_model": False}, "the model cannot be reached from the cell"),
    ],
)
async def test_a_way_that_does_not_work_is_a_fault_of_ours(
    place: Path, given: dict[str, object], fault: str
) -> None:
    report = await _probed("none", place, [], **given)  # type: ignore[arg-type]

    assert re.search(fault, report.fault() or "")


async def test_a_probe_that_cannot_run_says_why(place: Path) -> None:
    async with opened_cell("none", place / "cell") as cell:
        cell.session_listener.listen()
        with pytest.raises(SandboxError, match="the probe of the agent's cell failed: it did not"):
            await probe(
                cell,
                protected=[],
                session_url=f"http://127.0.0.1:{cell.session_listener.getsockname()[1]}/mcp",
                token="right",
                model_url=None,
                expected_tools=[],
                env=ENV,
                limit_s=0.5,
            )
