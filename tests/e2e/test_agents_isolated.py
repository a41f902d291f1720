"""The ways out of a cell, tried by each real agent's own shell: a scripted model tells it to."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from clients.claude_code import CLAUDE_CODE
from clients.client import Client, HttpServer, Job, Model
from clients.codex import CODEX
from clients.gemini import GEMINI
from clients.opencode import OPENCODE
from clients.process import run_child
from clients.qwen_code import QWEN_CODE
from clients.run_client import headless_of, write_files
from hil_mcp.runs.programs import needed_folders
from tests.support.agent_shell import shell_call
from tests.support.agents import install_agents
from tests.support.cell_attempts import CELL_ATTEMPTS, CellStage, open_cell_stage
from tests.support.scripted_model import Call, ModelEndpoint, Turn, model_endpoint, play
from tests.support.served_session import served_session

if TYPE_CHECKING:
    from pathlib import Path

    from clients.process import ChildResult
    from hil_mcp.runs.cell import IsolationKind

pytestmark = pytest.mark.agents


async def _run(
    client: Client, staged: CellStage, *, program: Path, session_url: str, model: ModelEndpoint
) -> ChildResult:
    cell = staged.cell
    launch = headless_of(client).launch(
        Job(
            server=HttpServer(url=session_url, token_variable="HIL_MCP_TOKEN"),
            model=Model(name=f"{client.name}-scripted", base_url=model.url, key="dummy"),
            prompt="Do the task.",
            workspace=cell.workspace,
            home=cell.home,
            environment={"PATH": os.environ["PATH"], "HIL_MCP_TOKEN": "right"},
        )
    )
    write_files(launch.files)
    return await run_child(
        cell.command([str(program), *launch.arguments]),
        env=launch.environment,
        cwd=cell.workspace,
        timeout_s=300,
        limit_bytes=10_000_000,
        stdin=launch.stdin.encode(),
    )


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(each, id=each.name)
        for each in (CLAUDE_CODE, CODEX, GEMINI, OPENCODE, QWEN_CODE)
    ],
)
@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
async def test_an_agent_s_own_shell_gets_out_only_where_nothing_guards(
    client: Client, kind: IsolationKind, tmp_path: Path
) -> None:
    program = install_agents() / headless_of(client).program

    async with AsyncExitStack() as stack:
        staged = await stack.enter_async_context(
            open_cell_stage(kind, programs=needed_folders(program))
        )
        url = await stack.enter_async_context(
            served_session(staged.cell.session_listener, tmp_path / "asked", token="right")
        )
        script = play(
            Turn(calls=(Call("ask_human", {"question": "Which year?"}),)),
            Turn(calls=(shell_call(client.name, staged.write_attempts()),)),
            Turn(text="All done."),
        )
        model = stack.enter_context(model_endpoint(script, listener=staged.cell.model_listener))
        result = await _run(client, staged, program=program, session_url=url, model=model)
        assert result.status == 0, result.stderr.data.decode()
        got_out = staged.got_out(model.requests[-1].results[-1])

    assert (tmp_path / "asked").read_text() == '"Which year?"\n'
    everything = {one.name for one in CELL_ATTEMPTS if os.geteuid() == 0 or not one.needs_root}
    assert got_out == (set() if kind == "bubblewrap" else everything)
