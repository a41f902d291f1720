"""What would be started for an unattended run, for all agents that can be run so."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.client import Client, HttpServer, Job, Launch, Model, StdioServer
from clients.table import CLIENTS

RUNNERS = [pytest.param(client, id=client.name) for client in CLIENTS if client.headless]
STDIO = StdioServer(command="/opt/python", args=("-m", "hil_mcp"), env={"HIL_MCP_HOME": "/h"})
HTTP = HttpServer(url="http://127.0.0.1:1/mcp", token_variable="HIL_MCP_TOKEN")
HOME, WORKSPACE = Path("/run/home"), Path("/run/work")


def _launch(
    client: Client,
    *,
    server: StdioServer | HttpServer = STDIO,
    base_url: str | None = "http://127.0.0.1:2",
    max_turns: int | None = None,
    max_cost_usd: float | None = None,
) -> Launch:
    assert client.headless is not None
    return client.headless.launch(
        Job(
            server=server,
            model=Model(name="the-model", base_url=base_url, key="the-secret-key"),
            prompt="The prompt.",
            workspace=WORKSPACE,
            home=HOME,
            environment={"PATH": "/bin", "HIL_MCP_TOKEN": "the-token"},
            max_turns=max_turns,
            max_cost_usd=max_cost_usd,
        )
    )


def test_the_vendors_own_endpoints_are_known_where_there_is_one() -> None:
    endpoints = {each.name: each.headless.endpoint for each in CLIENTS if each.headless}

    assert endpoints == {
        "claude-code": "https://api.anthropic.com",
        "codex": "https://api.openai.com",
        "cursor": None,
        "gemini": "https://generativelanguage.googleapis.com",
        "opencode": None,
        "qwen-code": "https://api.openai.com",
    }


def _everything(launch: Launch) -> str:
    return "\n".join([*launch.arguments, *launch.environment.values(), *launch.files.values()])


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:2", None])
@pytest.mark.parametrize("client", RUNNERS)
def test_no_secret_stands_on_the_command_line(client: Client, base_url: str | None) -> None:
    for server in (STDIO, HTTP):
        launch = _launch(client, server=server, base_url=base_url)

        words = " ".join(launch.arguments)
        assert "the-secret-key" not in words
        assert "the-token" not in words


@pytest.mark.parametrize("client", RUNNERS)
def test_the_environment_is_the_given_one_with_a_home_of_the_runs_own(client: Client) -> None:
    launch = _launch(client)

    assert launch.environment["HOME"] == str(HOME)
    assert launch.environment["PATH"] == "/bin"
    assert all(path.is_relative_to(HOME) for path in launch.files)


@pytest.mark.parametrize("client", RUNNERS)
def test_the_server_the_model_and_the_prompt_are_passed_on(client: Client) -> None:
    stdio, http = _launch(client), _launch(client, server=HTTP)

    assert "/opt/python" in _everything(stdio)
    assert HTTP.url in _everything(http)
    assert "the-token" not in "".join(http.files.values())
    assert "the-model" in _everything(stdio)
    assert "The prompt." in (stdio.stdin, *stdio.arguments)


@pytest.mark.parametrize("client", [c for c in RUNNERS if c.id != "cursor"])
def test_another_endpoint_is_used_only_when_there_is_one(client: Client) -> None:
    assert "http://127.0.0.1:2" in _everything(_launch(client))
    assert "127.0.0.1" not in _everything(_launch(client, base_url=None))


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("claude-code", "--max-turns\n7\n--max-budget-usd\n1.5"),
        ("gemini", '"maxSessionTurns": 7'),
        ("qwen-code", "--max-session-turns\n7"),
    ],
)
def test_limits_are_set_where_an_agent_has_them(name: str, limit: str) -> None:
    client = next(client for client in CLIENTS if client.name == name)

    assert limit in _everything(_launch(client, max_turns=7, max_cost_usd=1.5))
    assert limit not in _everything(_launch(client))
