"""An agent in a task's own container, with the server outside."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hil_mcp.cli.main import main
from hil_mcp.events import Question, Submission
from hil_mcp.session_reader import read_session
from tests.support.ports import free_port
from tests.support.released_tasks import docker
from tests.support.sandboxes import TEST_IMAGE, docker_address
from tests.support.servers import running, serve_command

if TYPE_CHECKING:
    from pathlib import Path

TASK = "backup_prune"


def commands(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    with pytest.raises(SystemExit) as ended:
        main(["register", *arguments, "--in-container", "--task", TASK, "--json"])
    assert ended.value.code == 0
    return json.loads(capsys.readouterr().out)["commands"]


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini", "opencode"])
def test_the_commands_name_the_server_and_change_nothing(
    client: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.setenv("HOME", str(user))

    text = "\n".join(commands(capsys, client))

    assert f"hil-mcp serve --task {TASK} --mode ask_human --sandbox docker" in text
    assert "http://172.17.0.1:8765/mcp" in text
    assert "HIL_MCP_TOKEN" in text
    assert list(user.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--task is missing"),
        (("--task", "lockers_late"), "it is for repository tasks"),
    ],
)
def test_what_has_no_container_is_refused(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["register", "codex", "--in-container", *arguments])

    assert ended.value.code == 2
    assert message in capsys.readouterr().err


# Stands in for an agent: it finds server and token where a real one would, edits the repository
# with its own hands, asks and submits.
AGENT = """
import json, os, pathlib, urllib.request
config = json.loads((pathlib.Path.home() / ".claude.json").read_text())["mcpServers"]["hil"]
def call(number, method, params):
    request = urllib.request.Request(config["url"], json.dumps(
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode(), {
        "Authorization": "Bearer " + os.environ["HIL_MCP_TOKEN"],
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18"})
    body = urllib.request.urlopen(request, timeout=60).read().decode()
    lines = [l[6:] for l in body.splitlines() if l.startswith("data: {")] or [body]
    return json.loads(lines[-1])["result"]
call(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                       "clientInfo": {"name": "inside", "version": "1"}})
question = "Up to which age is a snapshot recent?"
answer = call(2, "tools/call", {"name": "ask_human", "arguments": {"question": question}})
pathlib.Path("answer.txt").write_text(answer["content"][0]["text"] + "\\n")
print(call(3, "tools/call", {"name": "submit_patch", "arguments": {}})["content"][0]["text"])
"""


@pytest.mark.docker
def test_an_agent_inside_asks_works_and_submits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The tests' daemon has no bridge, so the container is in the machine's own network.
    port = free_port()
    _, token, _, _, _, configure, *_ = commands(
        capsys, "claude-code", "--http", f"http://127.0.0.1:{port}/mcp"
    )
    subprocess.run(["sh", "-c", token], cwd=tmp_path, check=True)
    log = tmp_path / "session.jsonl"
    environment = {
        "HIL_MCP_SANDBOX_NETWORK": "host",
        "HIL_MCP_SANDBOX_IMAGE": TEST_IMAGE,
        "HIL_MCP_DOCKER_HOST": docker_address(),
    }
    serve = serve_command(
        *("--task", TASK, "--sandbox", "docker", "--token-file", tmp_path / "token", "--json"),
        *("--http", f"127.0.0.1:{port}", "--log", log),
    )
    with running(serve, env=environment) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"{\n"
        box = _box()
        by_hand = {**os.environ, "box": box, "DOCKER_HOST": docker_address()}
        subprocess.run(["sh", "-c", configure], env=by_hand, check=True)
        value = (tmp_path / "token").read_text().strip()
        said = docker("exec", "-i", "-e", f"HIL_MCP_TOKEN={value}", box, "python3", "-c", AGENT)
        server.terminate()
        server.wait(timeout=30)

    assert said.startswith(b"Submission received: 1 files")
    record = read_session(log)
    assert record.start.isolation == "docker"
    assert record.of(Question)[0].outcome == "answered"
    assert "+" + record.of(Question)[0].response in (record.of(Submission)[0].content or "")
    assert docker("ps", "-aq", "--filter", "label=hil-mcp.session") == b""


def _box() -> str:
    """The container, once the server has started it."""
    for _ in range(600):
        found = docker("ps", "--quiet", "--filter", "label=hil-mcp.session").decode().strip()
        if found and b".git\n" in docker("exec", found, "ls", "-a", "/app"):
            return found
    raise AssertionError("no container came")
