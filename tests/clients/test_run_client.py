from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from clients.claude_code import CLAUDE_CODE
from clients.client import Client, Finished, Job, Model, StdioServer
from clients.errors import ClientError, UnsupportedError
from clients.run_client import run_client
from clients.table import find_client

if TYPE_CHECKING:
    from pathlib import Path

# A program that stands in for an agent: it shows what it was given.
PROGRAM = """#!/bin/sh
echo "in $(pwd) with $HOME" >&2
cat
{then}
"""


async def _run(
    folder: Path, *, then: str = "", client: Client = CLAUDE_CODE, limit_s: float = 30
) -> Finished:
    program = folder / "agent"
    program.write_text(PROGRAM.format(then=then))
    program.chmod(0o755)
    return await run_client(
        client, _job(folder), program=program, limit_s=limit_s, limit_bytes=1000
    )


def _job(folder: Path) -> Job:
    for name in ("home", "work"):
        (folder / name).mkdir(exist_ok=True)
    return Job(
        server=StdioServer(command="/opt/python", args=()),
        model=Model(name="m"),
        prompt="Überlege. 😀",
        workspace=folder / "work",
        home=folder / "home",
        environment={"PATH": "/usr/bin:/bin"},
    )


async def test_an_agent_gets_its_prompt_its_folder_and_its_home(tmp_path: Path) -> None:
    finished = await _run(tmp_path, then="exit 3")

    assert finished.exit_status == 3
    assert finished.stdout == "Überlege. 😀"
    assert finished.stderr == f"in {tmp_path / 'work'} with {tmp_path / 'home'}\n"


async def test_its_configuration_is_for_the_owners_eyes_only(tmp_path: Path) -> None:
    await _run(tmp_path)

    config = tmp_path / "home" / "hil-mcp.json"
    assert stat.S_IMODE(config.stat().st_mode) == 0o600


async def test_an_agent_whose_time_runs_out_is_ended(tmp_path: Path) -> None:
    finished = await _run(tmp_path, then="sleep 600", limit_s=0.2)

    assert finished.exit_status is None
    assert CLAUDE_CODE.headless is not None
    failure = CLAUDE_CODE.headless.read(finished).failure
    assert failure is not None
    assert failure.message == "its time ran out"


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "no-such-agent"

    with pytest.raises(ClientError, match="no-such-agent: cannot be started"):
        await run_client(CLAUDE_CODE, _job(tmp_path), program=missing, limit_s=5, limit_bytes=1000)


async def test_an_agent_that_needs_a_person_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="VS Code cannot be run without a person"):
        await _run(tmp_path, client=find_client("vscode"))
