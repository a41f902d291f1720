"""The unmodified agents from npm, each against a scripted model and the smallest server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from clients.claude_code import CLAUDE_CODE
from clients.client import Client, StdioServer
from clients.codex import CODEX
from clients.gemini import GEMINI
from clients.opencode import OPENCODE
from clients.qwen_code import QWEN_CODE
from clients.transcript import FailureKind
from tests.support import asking_server
from tests.support.agents import agent_home, run_agent
from tests.support.asking_server import ANSWER, DEADLY
from tests.support.scripted_model import Call, Fault, Turn, after_faults, model_endpoint, play

pytestmark = pytest.mark.agents

REAL_AGENTS = (CLAUDE_CODE, CODEX, GEMINI, OPENCODE, QWEN_CODE)
AGENTS = [pytest.param(client, id=client.name) for client in REAL_AGENTS]
_SERVER = str(Path(asking_server.__file__))

ASKS_TWICE = play(
    Turn(text="I need to know.", calls=(Call("ask_human", {"question": "Which year?"}),)),
    Turn(calls=(Call("ask_human", {"question": "Which “region”?\u2028EMEA?"}),)),
    Turn(text="All done."),
)


def _stdio(log: Path) -> StdioServer:
    return StdioServer(command=sys.executable, args=(_SERVER, str(log)))


def _asked(log: Path) -> list[str]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize("client", AGENTS)
async def test_an_agent_asks_over_stdio_and_its_transcript_agrees_with_the_server(
    client: Client, tmp_path: Path
) -> None:
    log = tmp_path / "asked"

    with agent_home() as home, model_endpoint(ASKS_TWICE) as model:
        run = await run_agent(client, server=_stdio(log), endpoint=model.url, home=home)

    assert _asked(log) == ["Which year?", "Which “region”?\u2028EMEA?"]
    transcript = run.transcript
    assert (transcript.ask_calls, transcript.tool_calls) == (2, 2)
    assert (transcript.input_tokens, transcript.output_tokens) == (300, 60)
    assert (transcript.final_text, transcript.failure) == ("All done.", None)
    assert (transcript.denied, transcript.lost, transcript.own_asks) == (0, 0, 0)
    assert transcript.unread_lines == 0
    # What an agent does not tell is None.
    assert transcript.turns in (3, None)
    assert transcript.model in (f"{client.name}-scripted", None)
    assert transcript.offered in (True, None)
    assert all(request.offers("ask_human") for request in model.requests)
    assert all(ANSWER in result for result in model.requests[-1].results)


@pytest.mark.parametrize("client", [CLAUDE_CODE, CODEX], ids=lambda client: client.name)
async def test_a_fault_of_the_endpoint_that_passes_loses_no_question(
    client: Client, tmp_path: Path
) -> None:
    log = tmp_path / "asked"
    stumbles = after_faults(Fault(status=500), Fault(drop=True), then=ASKS_TWICE)

    with agent_home() as home, model_endpoint(stumbles) as model:
        run = await run_agent(client, server=_stdio(log), endpoint=model.url, home=home)

    assert len(_asked(log)) == run.transcript.ask_calls == 2
    assert run.transcript.failure is None
    assert len(model.requests) == 5


@pytest.mark.parametrize("client", AGENTS)
async def test_the_only_way_to_get_help_is_ask_human(client: Client, tmp_path: Path) -> None:
    with agent_home() as home, model_endpoint(play()) as model:
        await run_agent(client, server=_stdio(tmp_path / "asked"), endpoint=model.url, home=home)

    tools = set(model.requests[0].tools)
    web = {"WebSearch", "WebFetch", "web_search", "google_web_search", "web_fetch", "webfetch"}
    asking = {"AskUserQuestion", "ask_user", "question"}
    agents = {"Agent", "Task", "spawn_agent", "task", "save_memory"}
    assert tools & (web | asking | agents) == set()


@pytest.mark.parametrize("client", AGENTS)
async def test_parallel_questions_all_reach_the_server(client: Client, tmp_path: Path) -> None:
    log = tmp_path / "asked"
    questions = [f"Question {number}?" for number in range(4)]
    flood = play(Turn(calls=tuple(Call("ask_human", {"question": q}) for q in questions)))

    with agent_home() as home, model_endpoint(flood) as model:
        run = await run_agent(client, server=_stdio(log), endpoint=model.url, home=home)

    assert sorted(_asked(log)) == questions
    assert run.transcript.ask_calls == 4


_OWN_QUESTION = {"question": "Which?", "header": "h", "multiSelect": False, "type": "text"}
_OWN_ASKS = {
    "claude-code": "AskUserQuestion",
    "codex": "request_user_input",
    "gemini": "ask_user",
    "opencode": "question",
    "qwen-code": "ask_user_question",
}


@pytest.mark.parametrize("client", AGENTS)
async def test_calls_that_a_dead_server_loses_and_the_agent_s_own_asks_are_told_apart(
    client: Client, tmp_path: Path
) -> None:
    own = Call(_OWN_ASKS[client.name], {"questions": [_OWN_QUESTION]})
    asks = play(
        Turn(calls=(own,)),
        Turn(calls=(Call("ask_human", {"question": "Which year?"}),)),
        Turn(calls=(Call("ask_human", {"question": DEADLY}),)),
    )

    with agent_home() as home, model_endpoint(asks) as model:
        run = await run_agent(
            client, server=_stdio(tmp_path / "asked"), endpoint=model.url, home=home
        )

    transcript = run.transcript
    assert (transcript.ask_calls, transcript.own_asks) == (2, 1)
    assert (transcript.lost, transcript.denied) == (1, 0)


# opencode says nothing at all: only the server's own log can tell.
@pytest.mark.parametrize("client", [each for each in AGENTS if each.id != "opencode"])
async def test_a_server_that_cannot_start_is_seen_in_the_transcript(
    client: Client, tmp_path: Path
) -> None:
    server = StdioServer(command=sys.executable, args=("-c", "raise SystemExit(3)"))

    with agent_home() as home, model_endpoint(play()) as model:
        run = await run_agent(client, server=server, endpoint=model.url, home=home)

    transcript = run.transcript
    no_server = transcript.failure is not None and transcript.failure.kind is FailureKind.NO_SERVER
    assert transcript.offered is False or no_server


@pytest.mark.parametrize("client", AGENTS)
async def test_a_refused_key_is_a_failure_of_the_endpoint(client: Client, tmp_path: Path) -> None:
    denied = play(then=Fault(status=401, message="invalid api key"))

    with agent_home() as home, model_endpoint(denied) as model:
        run = await run_agent(
            client,
            server=_stdio(tmp_path / "asked"),
            endpoint=model.url,
            home=home,
            environment={"CLAUDE_CODE_MAX_RETRIES": "1"},
        )

    assert run.transcript.failure is not None
    assert run.transcript.failure.kind is FailureKind.ENDPOINT
    assert run.transcript.ask_calls == 0
