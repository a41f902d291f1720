"""`hil-mcp serve` as a process: what an agent, and an operator, see of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import anyio
import httpx
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.main import main
from hil_mcp.events import ClientConnected, SessionEnd, Submission
from hil_mcp.scoring import score_session
from hil_mcp.session_reader import read_session
from tests.support.servers import call, initialize, receive, running, serve_command

TASK = "lockers_late"
GOOD = "From what time of day on is a drop-off counted as late?"


def _text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_task_is_served_over_stdio_in_both_eras(
    tmp_path: Path, home: Path, era: str
) -> None:
    log = tmp_path / "session.jsonl"
    _, *arguments = serve_command("--task", TASK, "--log", log)
    server = StdioServerParameters(
        command=serve_command()[0], args=arguments, env={**os.environ, "HIL_MCP_HOME": str(home)}
    )

    with anyio.fail_after(60):
        async with Client(server, mode=era) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            answer = _text(await client.call_tool("ask_human", {"question": GOOD}))
            rows = _text(await client.call_tool("execute_sql", {"query": "SELECT 1 AS one"}))
            await client.call_tool("submit_sql", {"query": "SELECT 1"})

    assert listed == {
        "ask_human",
        "get_database_info",
        "get_table_info",
        "get_column_info",
        "get_business_info",
        "execute_sql",
        "submit_sql",
    }
    assert "18:40" in answer
    assert rows == "Query executed successfully:\none\n1\n"
    record = read_session(log)
    assert record.of(SessionEnd) == [SessionEnd(reason="disconnected")]
    assert [s.content for s in record.of(Submission)] == ["SELECT 1"]
    assert record.of(ClientConnected)[0].transport == "stdio"
    figures = score_session(record).figures
    assert (figures.precision, figures.recall, figures.ask_f1) == (1.0, 1 / 3, 0.5)


def test_stdout_carries_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    noise = tmp_path / "sitecustomize.py"
    noise.write_text(
        "import logging, warnings\nlogging.basicConfig(level=logging.DEBUG)\n"
        "warnings.warn('a warning at import')\n"
    )
    env = {"PYTHONPATH": str(tmp_path), "PYTHONWARNINGS": "always"}

    with running(serve_command("--task", TASK), env=env) as child:
        initialize(child)
        call(child, 2, "ask_human", {"question": GOOD})
        receive(child)
        out, err = child.communicate(timeout=30)

    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert b"a warning at import" in err
    assert child.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_session_and_the_process(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "session.jsonl"

    with running(serve_command("--task", TASK, "--log", log)) as child:
        initialize(child)
        call(child, 2, "execute_sql", {"query": "SELECT 1"})
        receive(child)
        child.send_signal(number)
        child.wait(timeout=10)

    assert child.returncode == 0
    assert read_session(log).of(SessionEnd) == [SessionEnd(reason="shutdown")]


@pytest.mark.parametrize("how", ["signal", "hang up"])
def test_the_sandbox_of_a_repository_is_gone_with_its_server(tmp_path: Path, how: str) -> None:
    log = tmp_path / "session.jsonl"
    command = serve_command("--task", "backup_prune", "--sandbox", "local", "--log", log)

    with running(command) as child:
        initialize(child)
        call(child, 2, "run_command", {"command": "pwd"})
        place = Path(receive(child)["result"]["content"][0]["text"].splitlines()[0])
        was_there = place.is_dir()
        if how == "signal":
            child.send_signal(signal.SIGTERM)
        else:
            assert child.stdin is not None
            child.stdin.close()
        child.wait(timeout=20)

    assert was_there
    assert not place.parent.exists()
    assert read_session(log).start.isolation == "local"


async def test_http_serves_only_who_has_the_token(tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    token_file.write_text("s3cret\n")
    log = tmp_path / "session.jsonl"
    command = serve_command(
        *("--task", TASK, "--http", "127.0.0.1:0", "--token-file", token_file),
        *("--log", log, "--json"),
    )

    with running(command) as child, anyio.fail_after(60):
        assert child.stdout is not None
        url = json.loads(b"".join(iter(child.stdout.readline, b"}\n")) + b"}")["url"]
        async with httpx.AsyncClient() as http:
            refused = [
                (await http.post(url, json={}, headers=headers)).status_code
                for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "s3cret"})
            ]
        answer = await _ask_over_http(url, "s3cret")
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=20)

    assert refused == [401, 401, 401]
    assert "18:40" in answer
    record = read_session(log)
    assert record.of(ClientConnected)[0].transport == "http"
    assert record.of(SessionEnd) == [SessionEnd(reason="shutdown")]
    assert child.returncode == 0


async def _ask_over_http(url: str, token: str) -> str:
    import httpx2

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return _text(await client.call_tool("ask_human", {"question": GOOD}))


async def test_a_silent_http_session_has_a_log_too(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    command = serve_command("--task", TASK, "--http", "127.0.0.1:0", "--log", log, "--json")

    with running(command, env={"HIL_MCP_TOKEN": "t"}) as child:
        assert child.stdout is not None
        child.stdout.read(1)  # as soon as anything is announced
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=20)

    record = read_session(log)
    figures = score_session(record).figures
    assert (figures.n_questions, figures.ask_f1) == (0, 0.0)
    assert (child.returncode, record.is_ended) == (0, True)


def test_an_unfit_judge_keeps_the_port_closed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    env = {"HIL_MCP_TOKEN": "t", "HIL_MCP_JUDGE_URL": url}
    command = serve_command("--task", TASK, "--http", "127.0.0.1:0", "--judge", "vllm")

    done = subprocess.run(command, capture_output=True, env={**os.environ, **env}, timeout=120)

    assert done.returncode == ExitStatus.JUDGE
    assert url.encode() in done.stderr
    assert b"serving" not in done.stderr


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    return int(ended.value.code or 0), err


def test_a_port_in_use_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HIL_MCP_TOKEN", "t")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        status, shown = _refused(capsys, "--task", TASK, "--http", address)

    assert status == ExitStatus.USAGE
    assert address in shown
    assert "choose another port" in shown


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--task", "nope"), ExitStatus.USAGE, "unknown task 'nope'"),
        (("--task", TASK, "--mode", "hard"), ExitStatus.USAGE, "--mode"),
        (("--task", TASK, "--judge", "oracle"), ExitStatus.USAGE, "unknown judge 'oracle'"),
        (("--task", TASK, "--http", "8000"), ExitStatus.USAGE, "needs a token"),
        (("--task", TASK, "--json"), ExitStatus.USAGE, "--http too"),
        (("--task", TASK, "--log", "/dev/null/x"), ExitStatus.USAGE, "cannot be written there"),
    ],
)
def test_wrong_usage_is_one_line_with_its_status(
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    status: ExitStatus,
    message: str,
) -> None:
    seen, shown = _refused(capsys, *arguments)

    assert seen == status
    assert message in shown
