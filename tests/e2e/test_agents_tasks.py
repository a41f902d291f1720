"""The unmodified agents do a starter task through `hil-mcp serve`; the score is known beforehand.

The model is scripted, the agent is not. The script asks one question that hits a blocker, one that
hits none and one that hits the first again: q = 3 questions, d = 1 discovered, b blockers, so that
precision is 1/3, recall 1/b and Ask-F1 2/(3 + b).
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import pytest

from clients.client import Client, HttpServer, StdioServer
from hil_mcp.settings import child_environment
from task_store.store import TaskStore
from tests.e2e.test_agents_ask import AGENTS
from tests.support.agents import agent_home, run_agent
from tests.support.scripted_model import Call, Turn, model_endpoint, play

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from clients.client import Server

Transport: TypeAlias = "Callable[[Path, Path], AbstractContextManager[Server]]"

pytestmark = pytest.mark.agents

TASK_ID = "lockers_late"
TOKEN = "a-token-for-one-session"
TOOLS = {
    *("ask_human", "get_database_info", "get_table_info", "get_column_info"),
    *("get_business_info", "execute_sql", "submit_sql"),
}
DATABASE = {"database_name": "lockers"}

ASKS_AND_SUBMITS = play(
    Turn(
        text="I look around first.",
        calls=(
            Call("get_database_info", DATABASE),
            Call("get_business_info", {**DATABASE, "search_string": "late drop-off"}),
        ),
    ),
    Turn(
        calls=(
            Call("ask_human", {"question": "From what time of day is a drop-off counted as late?"}),
        )
    ),
    Turn(calls=(Call("ask_human", {"question": "Could you tell me more about this task?"}),)),
    Turn(
        calls=(
            Call(
                "ask_human", {"question": "At what time of day does a drop-off start to be late?"}
            ),
        )
    ),
    Turn(calls=(Call("submit_sql", {"query": "SELECT COUNT(*) FROM drop_offs"}),)),
    Turn(text="I am done."),
)


@contextmanager
def _stdio(log: Path, home: Path) -> Generator[Server]:
    yield StdioServer(
        command=sys.executable,
        args=("-m", "hil_mcp", "serve", "--task", TASK_ID, "--log", str(log)),
        env={"HIL_MCP_HOME": str(home)},
    )


@contextmanager
def _http(log: Path, home: Path) -> Generator[Server]:
    token_file = log.with_name("token")
    token_file.write_text(TOKEN)
    options = ("--task", TASK_ID, "--log", str(log), "--json", "--token-file", str(token_file))
    with subprocess.Popen(
        [sys.executable, "-m", "hil_mcp", "serve", "--http", "127.0.0.1:0", *options],
        env=child_environment({"HIL_MCP_HOME": str(home)}),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        document = ""
        while not document.endswith("}\n"):
            document += process.stdout.readline()
        yield HttpServer(url=json.loads(document)["url"], token_variable="HIL_MCP_TOKEN")
        process.terminate()


def _score(log: Path) -> dict[str, object]:
    command = [sys.executable, "-m", "hil_mcp", "score", "--json", str(log)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


@pytest.mark.parametrize("transport", [_stdio, _http], ids=["stdio", "http"])
@pytest.mark.parametrize("client", AGENTS)
async def test_an_agent_does_a_starter_task_and_its_score_is_the_one_worked_out_by_hand(
    client: Client, transport: Transport, tmp_path: Path, home: Path
) -> None:
    log = tmp_path / "session.jsonl"
    n_blockers = len(TaskStore(home).get(TASK_ID).registry.blockers)

    with (
        agent_home() as own_home,
        model_endpoint(ASKS_AND_SUBMITS) as model,
        transport(log, home) as server,
    ):
        run = await run_agent(
            client,
            server=server,
            endpoint=model.url,
            home=own_home,
            environment={"HIL_MCP_TOKEN": TOKEN},
        )

    assert all(model.requests[0].offers(tool) for tool in TOOLS)
    score = _score(log)
    assert (score["n_questions"], score["n_blockers_discovered"]) == (3, 1)
    assert score["n_blockers_present"] == n_blockers
    assert score["precision"] == pytest.approx(1 / 3)
    assert score["recall"] == pytest.approx(1 / n_blockers)
    assert score["ask_f1"] == pytest.approx(2 / (3 + n_blockers))
    assert score["judge_errors"] == 0
    assert (run.transcript.ask_calls, run.transcript.tool_calls) == (3, 6)
    assert (run.transcript.failure, run.transcript.denied, run.transcript.lost) == (None, 0, 0)
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n") if line]
    kinds = [event["event"] for event in events]
    assert kinds.count("submission") == 1
    assert events[kinds.index("session_end")]["reason"] in ("disconnected", "shutdown")
