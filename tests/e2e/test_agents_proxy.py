"""The unmodified agents with the model proxy between them and a scripted model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clients.client import Client, StdioServer
from clients.transcript import FailureKind
from hil_mcp.runs.model_answer import TokenCount
from tests.e2e.test_agents_ask import AGENTS, ASKS_TWICE
from tests.support import asking_server
from tests.support.agents import agent_home, run_agent
from tests.support.model_proxies import PLACEHOLDER, REAL_KEY, proxied, proxy_config
from tests.support.scripted_model import Fault, model_endpoint, play

pytestmark = pytest.mark.agents


def _stdio(log: Path) -> StdioServer:
    return StdioServer(command=sys.executable, args=(str(Path(asking_server.__file__)), str(log)))


def _files_with(text: str, folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if text.encode() in path.read_bytes()]


@pytest.mark.parametrize("client", AGENTS)
async def test_an_agent_works_through_the_proxy_and_never_has_the_real_key(
    client: Client, tmp_path: Path
) -> None:
    with agent_home() as home, model_endpoint(ASKS_TWICE) as model:
        model.only_key = REAL_KEY
        async with proxied(proxy_config(model.url)) as proxy:
            run = await run_agent(
                client,
                server=_stdio(tmp_path / "asked"),
                endpoint=proxy.url,
                key=PLACEHOLDER,
                home=home,
            )
        held = _files_with(REAL_KEY, home)

    transcript, seen = run.transcript, proxy.seen
    assert (transcript.failure, transcript.ask_calls) == (None, 2)
    assert transcript.final_text == "All done."
    assert {request.key for request in model.requests} == {REAL_KEY}
    assert held == []
    assert REAL_KEY not in run.finished.stdout + run.finished.stderr
    assert seen.first_tools is not None
    assert seen.first_tools.names == model.requests[0].tools
    assert seen.first_tools.offers("ask_human")
    assert seen.n_turns == len(model.requests) == 3
    assert (seen.last_failure, seen.n_unread, seen.n_without_tokens) == (None, 0, 0)
    assert seen.models == (f"{client.name}-scripted",)
    asides = len(model.asides)
    assert seen.tokens == TokenCount(
        input_tokens=100 * (3 + asides), output_tokens=20 * (3 + asides)
    )


@pytest.mark.parametrize("client", AGENTS)
async def test_a_key_that_the_endpoint_refuses_is_seen_at_the_proxy(
    client: Client, tmp_path: Path
) -> None:
    refused = play(then=Fault(status=401, message="invalid api key"))

    with agent_home() as home, model_endpoint(refused) as model:
        async with proxied(proxy_config(model.url)) as proxy:
            run = await run_agent(
                client,
                server=_stdio(tmp_path / "asked"),
                endpoint=proxy.url,
                key=PLACEHOLDER,
                home=home,
                environment={"CLAUDE_CODE_MAX_RETRIES": "1"},
            )

    assert run.transcript.failure is not None
    assert run.transcript.failure.kind is FailureKind.ENDPOINT
    assert proxy.seen.last_failure is not None
    assert proxy.seen.last_failure.status == 401
    assert proxy.seen.n_turns == 0
