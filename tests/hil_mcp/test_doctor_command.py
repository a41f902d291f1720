"""`hil-mcp doctor` with programs that stand in for an agent; tests/e2e has the real ones."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from hil_mcp.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

INIT = {
    "type": "system",
    "subtype": "init",
    "tools": ["mcp__hil__ask_human"],
    "mcp_servers": [{"name": "hil", "status": "connected"}],
    "model": "a-model",
}
RESULT = {"type": "result", "subtype": "success", "result": "done"}

# Claude Code's output, from a program that talks to the server of its configuration as that does.
ASKING_AGENT = """\
#!{python}
import json, pathlib, subprocess, sys
config = json.loads(pathlib.Path(sys.argv[sys.argv.index("--mcp-config") + 1]).read_text())
server = config["mcpServers"]["hil"]
process = subprocess.Popen(
    [server["command"], *server["args"]], env=server["env"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
)
def send(message):
    process.stdin.write(json.dumps({{"jsonrpc": "2.0", **message}}).encode() + b"\\n")
    process.stdin.flush()
def call(number, method, params):
    send({{"id": number, "method": method, "params": params}})
    while json.loads(process.stdout.readline()).get("id") != number:
        pass
call(1, "initialize", {{
    "protocolVersion": "2025-06-18", "capabilities": {{}},
    "clientInfo": {{"name": "stand-in", "version": "1"}},
}})
send({{"method": "notifications/initialized"}})
call(2, "tools/call", {{
    "name": "ask_human",
    "arguments": {{"question": "At what time of day does a drop-off start to be late?"}},
}})
process.stdin.close()
process.wait()
use = {{"type": "tool_use", "id": "1", "name": "mcp__hil__ask_human"}}
print(json.dumps({init}))
print(json.dumps({{"type": "assistant", "message": {{"id": "a", "content": [use]}}}}))
print(json.dumps({result}))
"""
SILENT_AGENT = """\
#!{python}
import json
print(json.dumps({init}))
print(json.dumps({result}))
"""


@pytest.fixture
def bin_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, empty; HOME is a folder without a login."""
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return path


def _install(bin_dir: Path, agent: str) -> None:
    program = bin_dir / "claude"
    program.write_text(agent.format(python=sys.executable, init=INIT, result=RESULT))
    program.chmod(0o755)


def _doctor(*options: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(("doctor", *options))
    return int(end.value.code or 0)


def test_a_call_that_goes_all_the_way_is_well(
    bin_dir: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _install(bin_dir, ASKING_AGENT)

    status = _doctor("--client", "claude-code", "--json")

    document = json.loads(capsys.readouterr().out)
    assert (status, document["well"]) == (0, True)
    assert all(each["passed"] for each in document["checks"])
    assert not any((home / "doctor").iterdir())


def test_an_agent_that_ends_well_without_a_call_is_not_well(
    bin_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _install(bin_dir, SILENT_AGENT)

    status = _doctor("--client", "claude-code")

    shown = capsys.readouterr().out
    assert status == 5
    assert "a-model" in shown
    assert "0 in the log, 0 in its own output" in shown


def test_the_users_login_is_linked_and_not_copied(
    bin_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    login = tmp_path / ".claude" / ".credentials.json"
    login.parent.mkdir()
    login.write_text("a login")
    shows_it = (
        "#!{python}\nimport os, pathlib, sys\n"
        "found = pathlib.Path(os.environ['CLAUDE_CONFIG_DIR'], '.credentials.json')\n"
        "sys.exit(f'link to {{found.readlink()}}: {{found.read_text()}}')\n"
    )
    _install(bin_dir, shows_it)

    assert _doctor("--client", "claude-code", "--json") == 5

    detail = json.loads(capsys.readouterr().out)["checks"][0]["detail"]
    assert detail == f"link to {login}: a login"
    assert login.read_text() == "a login"


@pytest.mark.parametrize(
    ("options", "status", "problem"),
    [
        (("--client", "codex"), 5, "codex is not on PATH: install Codex CLI first"),
        (("--client", "vscode"), 2, "cannot be run without a person"),
        (("--client", "emacs"), 2, "unknown client"),
        (("--client", "codex", "--base-url", "http://127.0.0.1:1"), 2, "needs --model"),
    ],
)
def test_what_cannot_be_tried_is_said_in_one_line(
    options: tuple[str, ...],
    status: int,
    problem: str,
    bin_dir: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _doctor(*options) == status

    message = capsys.readouterr().err
    assert problem in message
    assert message.count("\n") == 1
