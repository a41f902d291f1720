"""`hil-mcp doctor` with the unmodified agents: what went all the way, and what did not."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from clients.process import run_child
from tests.support.agents import agent_home, install_agents
from tests.support.scripted_model import Behaviour, Call, Turn, model_endpoint, play

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.agents

CLIENTS = ["claude-code", "codex", "gemini", "opencode", "qwen-code"]
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
ASKS = play(
    Turn(
        calls=(
            Call(
                "ask_human", {"question": "At what time of day does a drop-off start to be late?"}
            ),
        )
    ),
    Turn(text="At 18:40."),
)


async def _doctor(client: str, behaviour: Behaviour, home: Path) -> tuple[int | None, str]:
    with agent_home() as own_home, model_endpoint(behaviour) as model:
        options = ("--client", client, "--model", "m", "--base-url", model.url, "--json")
        result = await run_child(
            [sys.executable, "-m", "hil_mcp", "doctor", *options],
            env={
                "HOME": str(own_home),
                "HIL_MCP_HOME": str(home),
                "PATH": f"{install_agents()}:{os.environ['PATH']}",
                **dict.fromkeys(KEYS, "dummy"),
            },
            timeout_s=120,
            limit_bytes=1_000_000,
        )
    return result.status, result.stdout.data.decode()


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_call_that_goes_all_the_way_is_well(client: str, home: Path) -> None:
    status, output = await _doctor(client, ASKS, home)

    document = json.loads(output)
    assert [each["name"] for each in document["checks"] if each["passed"] is False] == []
    assert (status, document["well"]) == (0, True)
    assert "18:40" in output
    assert list((home / "doctor").iterdir()) == []


async def test_an_agent_that_never_asks_is_not_well(home: Path) -> None:
    status, output = await _doctor("claude-code", play(), home)

    checks = {each["name"]: each["passed"] for each in json.loads(output)["checks"]}
    assert status == 5
    assert checks["the agent ran"] is True
    assert checks["its question reached the server"] is False
