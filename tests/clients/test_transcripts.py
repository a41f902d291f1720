"""What each agent's output says, read from short outputs of our own making.

The live tests in tests/e2e see the real outputs; these hold what those cannot bring about.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clients.claude_code import CLAUDE_CODE
from clients.client import Client, Finished
from clients.codex import CODEX
from clients.cursor import CURSOR
from clients.gemini import GEMINI
from clients.opencode import OPENCODE
from clients.qwen_code import QWEN_CODE
from clients.transcript import FailureKind, Transcript

if TYPE_CHECKING:
    from collections.abc import Mapping

RUNNERS = [CLAUDE_CODE, CODEX, CURSOR, GEMINI, OPENCODE, QWEN_CODE]


def _read(
    client: Client,
    *events: Mapping[str, object] | str,
    exit_status: int = 0,
    stderr: str = "",
    home: Path = Path("/nowhere"),
) -> Transcript:
    assert client.headless is not None
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return client.headless.read(
        Finished(exit_status=exit_status, stdout="\n".join(lines), stderr=stderr, home=home)
    )


def _kind(transcript: Transcript) -> FailureKind | None:
    return transcript.failure.kind if transcript.failure else None


def _claude_init(*, status: str = "connected", tools: tuple[str, ...] = ()) -> dict[str, object]:
    return {
        "type": "system",
        "subtype": "init",
        "tools": ["Bash", *tools],
        "mcp_servers": [{"name": "hil", "status": status}],
        "model": "m",
        "claude_code_version": "2.0",
    }


def _claude_result(**fields: object) -> dict[str, object]:
    usage = {"input_tokens": 10, "output_tokens": 4, "cache_read_input_tokens": 90}
    return {"type": "result", "subtype": "success", "result": "end", "usage": usage, **fields}


@pytest.mark.parametrize("client", RUNNERS, ids=[client.name for client in RUNNERS])
def test_a_killed_run_without_output_is_a_failure_and_nothing_else_is_known(
    client: Client,
) -> None:
    transcript = _read(client, exit_status=-9)

    assert transcript.failure is not None
    assert "exit status -9" in transcript.failure.message
    assert (transcript.ask_calls, transcript.tool_calls) == (0, 0)
    assert {transcript.denied, transcript.lost, transcript.own_asks} <= {0, None}
    assert (transcript.input_tokens, transcript.cost_usd, transcript.model) == (None, None, None)


@pytest.mark.parametrize("client", RUNNERS, ids=[client.name for client in RUNNERS])
def test_lines_that_are_no_events_are_counted_and_left_out(client: Client) -> None:
    transcript = _read(client, "Warning: something", '{"half', '{"no": "type"}', exit_status=1)

    assert transcript.unread_lines == 3


def test_claude_code_without_the_tool_at_the_start_says_so() -> None:
    asks = "mcp__hil__ask_human"

    assert _read(CLAUDE_CODE, _claude_init(tools=(asks,)), _claude_result()).offered is True
    # "connected" alone is not enough: a server that lists nothing is connected too.
    assert _read(CLAUDE_CODE, _claude_init(), _claude_result()).offered is False
    pending = _claude_init(status="pending", tools=(asks,))
    assert _read(CLAUDE_CODE, pending, _claude_result()).offered is False
    assert _read(CLAUDE_CODE, _claude_result()).offered is None


def test_claude_code_counts_tokens_with_those_from_the_cache() -> None:
    transcript = _read(CLAUDE_CODE, _claude_result(total_cost_usd=0.25))

    assert (transcript.input_tokens, transcript.output_tokens) == (100, 4)
    assert transcript.cost_usd == 0.25


def _stream(
    *calls: tuple[str, str | None], denials: tuple[str, ...] = ()
) -> list[dict[str, object]]:
    """A Claude Code run of calls, each a tool's name and its error."""
    events: list[dict[str, object]] = []
    for number, (name, error) in enumerate(calls):
        call = {"type": "tool_use", "id": f"t{number}", "name": name}
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "is_error": error is not None,
            "content": error or [{"type": "text", "text": "At 18:40."}],
        }
        events.append({"type": "assistant", "message": {"id": "a", "content": [call]}})
        events.append({"type": "user", "message": {"content": [result]}})
    refused = [{"tool_name": name} for name in denials]
    return [*events, _claude_result(permission_denials=refused)]


_ASKS = "mcp__hil__ask_human"


@pytest.mark.parametrize(
    "error",
    [
        "Connection closed",
        "Not connected",
        "ECONNRESET: The socket connection was closed unexpectedly. For more information, pass",
        'MCP server "hil" is not connected',
        "MCP error -32001: Request timed out",
        f"<tool_use_error>Error: No such tool available: {_ASKS}</tool_use_error>",
        # Qwen Code
        f'Tool "{_ASKS}" not found on MCP server "hil". The server may be disconnected, still',
    ],
)
def test_a_call_that_did_not_reach_the_server_is_lost(error: str) -> None:
    transcript = _read(CLAUDE_CODE, *_stream((_ASKS, error), (_ASKS, None)))

    assert (transcript.ask_calls, transcript.lost, transcript.denied) == (2, 1, 0)


def test_an_error_of_the_server_s_own_that_repeats_the_agent_s_words_is_no_lost_call() -> None:
    told = 'near "Connection closed": syntax error'

    transcript = _read(CLAUDE_CODE, *_stream(("mcp__hil__execute_sql", told), ("Bash", "ECONN")))

    assert (transcript.lost, transcript.denied) == (0, 0)


def test_a_call_that_the_agent_s_own_permissions_refused_is_denied_and_not_lost() -> None:
    told = f"Permission to use {_ASKS} has been denied because Claude Code is running in don't ask"

    transcript = _read(CLAUDE_CODE, *_stream((_ASKS, told), denials=(_ASKS, "Bash")))

    assert (transcript.ask_calls, transcript.lost, transcript.denied) == (1, 0, 1)


@pytest.mark.parametrize("client", [CLAUDE_CODE, QWEN_CODE], ids=["claude-code", "qwen-code"])
def test_calls_of_the_agent_s_own_question_tool_are_counted_refused_or_not(client: Client) -> None:
    name = "AskUserQuestion" if client is CLAUDE_CODE else "ask_user_question"
    refused = f"<tool_use_error>Error: No such tool available: {name}."

    transcript = _read(client, *_stream((name, refused), (name, None), (_ASKS, None)))

    assert (transcript.own_asks, transcript.ask_calls, transcript.lost) == (2, 1, 0)


def test_a_user_s_plain_text_is_no_call() -> None:
    plain = {"type": "user", "message": {"content": "a plain text"}}

    assert _read(CLAUDE_CODE, plain, _claude_result()).unread_lines == 0


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"is_error": True, "api_error_status": 529}, FailureKind.ENDPOINT),
        ({"is_error": True, "result": "API Error: 429 slow down"}, FailureKind.ENDPOINT),
        ({"is_error": True, "error": {"message": "[API Error: 401]"}}, FailureKind.ENDPOINT),
        ({"is_error": True, "subtype": "error_max_turns"}, FailureKind.TURN_LIMIT),
        ({"is_error": True, "subtype": "error_max_budget_usd"}, FailureKind.COST_LIMIT),
        ({"is_error": True, "stop_reason": "refusal"}, FailureKind.REFUSED),
        ({"is_error": True, "errors": ["it broke"]}, FailureKind.OTHER),
        ({}, None),
    ],
)
def test_claude_code_failures_are_told_apart(
    fields: dict[str, object], kind: FailureKind | None
) -> None:
    assert _kind(_read(CLAUDE_CODE, _claude_result(**fields))) is kind


def test_claude_code_ending_well_without_a_result_is_a_failure() -> None:
    assert _kind(_read(CLAUDE_CODE, _claude_init())) is FailureKind.OTHER


def test_codex_that_could_not_start_the_server_says_so() -> None:
    stderr = "Error: required MCP servers failed to initialize: hil: handshake failed"

    assert _kind(_read(CODEX, exit_status=1, stderr=stderr)) is FailureKind.NO_SERVER


def test_codex_failed_turns_are_the_endpoints_when_they_say_so() -> None:
    def failed(message: str) -> Transcript:
        return _read(CODEX, {"type": "turn.failed", "error": {"message": message}}, exit_status=1)

    assert _kind(failed("stream disconnected before completion")) is FailureKind.ENDPOINT
    assert _kind(failed("unexpected status 503 Service Unavailable")) is FailureKind.ENDPOINT
    assert _kind(failed("context window exceeded")) is FailureKind.OTHER


def _codex_call(**fields: object) -> dict[str, object]:
    item = {"type": "mcp_tool_call", "server": "hil", "tool": "ask_human", **fields}
    return {"type": "item.completed", "item": item}


def test_codex_calls_that_were_not_approved_are_denied_and_broken_ones_lost() -> None:
    failed = "tool call error: tool call failed for `hil/ask_human`\n\nCaused by:\n    "

    transcript = _read(
        CODEX,
        _codex_call(error={"message": "MCP tool call requires approval, but approval policy"}),
        _codex_call(error={"message": failed + "Transport closed"}),
        _codex_call(error={"message": failed + "Transport send error: Transport [...] error"}),
        _codex_call(error={"message": failed + "Mcp error: -32602: unknown: Transport closed"}),
        _codex_call(result={"content": [{"type": "text", "text": "Transport closed"}]}),
        {"type": "item.completed", "item": {"type": "command_execution"}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}},
    )

    assert (transcript.ask_calls, transcript.tool_calls) == (5, 6)
    assert (transcript.denied, transcript.lost) == (1, 2)
    assert transcript.final_text == "done"


def test_codex_tokens_and_model_of_a_failed_run_come_from_its_session_file(
    tmp_path: Path,
) -> None:
    folder = tmp_path / ".codex" / "sessions" / "2026"
    folder.mkdir(parents=True)
    usage = {"input_tokens": 70, "output_tokens": 7}
    lines: list[dict[str, object]] = [
        {"type": "session_meta", "payload": {"cli_version": "0.1"}},
        {"type": "turn_context", "payload": {"model": "gpt"}},
        {"type": "token_usage_record", "payload": {}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "shell"}},
        {
            "type": "response_item",
            "payload": {"type": "function_call", "name": "request_user_input"},
        },
        {
            "type": "event_msg",
            "payload": {"type": "token_count", "info": {"total_token_usage": usage}},
        },
    ]
    text = "\n".join(map(json.dumps, lines))
    (folder / "rollout-1.jsonl").write_text(text)

    transcript = _read(CODEX, exit_status=1, home=tmp_path)

    assert (transcript.input_tokens, transcript.output_tokens) == (70, 7)
    assert (transcript.model, transcript.version, transcript.turns) == ("gpt", "0.1", 1)
    # Its output does not show calls of its own question tool.
    assert transcript.own_asks == 1


def test_a_pipe_in_the_place_of_codex_s_session_file_holds_nobody_up(tmp_path: Path) -> None:
    folder = tmp_path / ".codex" / "sessions"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "rollout-1.jsonl")
    (folder / "rollout-2.jsonl").symlink_to("/dev/zero")

    transcript = _read(CODEX, exit_status=1, home=tmp_path)

    assert transcript.model is None


def test_gemini_that_could_not_use_the_server_says_so_on_stderr() -> None:
    transcript = _read(GEMINI, stderr="MCP issues detected. Run /mcp list for status.")

    assert transcript.offered is False


def test_gemini_text_comes_in_pieces_and_the_last_answer_counts() -> None:
    def says(text: str) -> dict[str, object]:
        return {"type": "message", "role": "assistant", "content": text, "delta": True}

    call = {"type": "tool_use", "tool_name": "mcp_hil_ask_human", "tool_id": "1"}
    lost = {"type": "tool_result", "tool_id": "1", "error": {"message": "Not connected"}}
    end = {"type": "result", "status": "success", "stats": {"input_tokens": 5}}

    transcript = _read(GEMINI, says("I ask."), call, lost, says("All "), says("done."), end)

    assert transcript.final_text == "All done."
    assert (transcript.ask_calls, transcript.lost, transcript.failure) == (1, 1, None)


def _gemini_call(number: int, error: str | None, *, tool: str = "mcp_hil_ask_human") -> list[str]:
    call = {"type": "tool_use", "tool_name": tool, "tool_id": str(number)}
    result: dict[str, object] = {"type": "tool_result", "tool_id": str(number)}
    if error is not None:
        result |= {"status": "error", "error": {"message": error}}
    return [json.dumps(call), json.dumps(result)]


def _gemini_error(answer: str, *, question: str = "Which?") -> str:
    call = json.dumps({"name": "ask_human", "args": {"question": question}})
    response = {"name": "ask_human", "response": {"error": {"message": answer, "isError": True}}}
    shown = json.dumps([{"functionResponse": response}], separators=(",", ":"))
    return (
        f"MCP tool 'ask_human' reported tool error for function call: {call} with response: {shown}"
    )


def test_gemini_denied_lost_and_own_calls_are_told_apart() -> None:
    question = 'x with response: [{"functionResponse":{"error":{"message":"Not connected'
    lines = [
        *_gemini_call(1, _gemini_error("MCP error -32000: Connection closed")),
        *_gemini_call(2, _gemini_error("Not connected")),
        *_gemini_call(3, 'Tool "mcp_hil_ask_human" not found. Did you mean one of: "glob"?'),
        *_gemini_call(4, _gemini_error("the question is empty", question=question)),
        *_gemini_call(
            5, 'Tool execution for "ask_human (hil MCP Server)" requires user confirmation, which'
        ),
        *_gemini_call(6, "Tool execution denied by policy."),
        *_gemini_call(7, 'Tool "ask_user" not found. Did you mean one of: "x"?', tool="ask_user"),
        *_gemini_call(8, None),
    ]

    transcript = _read(GEMINI, *lines)

    assert (transcript.ask_calls, transcript.tool_calls, transcript.own_asks) == (7, 8, 1)
    assert (transcript.lost, transcript.denied) == (3, 2)


def test_gemini_failures_are_told_apart() -> None:
    limit = _read(GEMINI, {"type": "error", "message": "turns"}, exit_status=53)
    broken = {"type": "result", "status": "error", "error": {"message": "[API Error: 429]"}}

    assert _kind(limit) is FailureKind.TURN_LIMIT
    assert _kind(_read(GEMINI, broken, exit_status=1)) is FailureKind.ENDPOINT


def _opencode_call(tool: str, **state: object) -> dict[str, object]:
    return {"type": "tool_use", "part": {"tool": tool, "state": state}}


def test_opencode_denied_lost_and_own_calls_are_told_apart() -> None:
    def failed(error: str) -> dict[str, object]:
        return _opencode_call("hil_ask_human", status="error", error=error)

    def absent(tool: str) -> dict[str, object]:
        told = f"Model tried to call unavailable tool '{tool}'."
        return _opencode_call("invalid", status="completed", input={"tool": tool, "error": told})

    transcript = _read(
        OPENCODE,
        failed("MCP error -32000: Connection closed"),
        failed("The socket connection was closed unexpectedly. For more information, pass"),
        failed("Unable to connect. Is the computer able to access the url?"),
        absent("hil_ask_human"),
        failed("The user rejected permission to use this specific tool call."),
        failed("The user has specified a rule which prevents you from using this specific tool"),
        failed("the question is empty"),
        absent("question"),
        absent("browser"),
        _opencode_call("bash", status="error", error="Unable to connect", input={"tool": 3}),
    )

    assert (transcript.ask_calls, transcript.tool_calls, transcript.own_asks) == (7, 10, 1)
    assert (transcript.lost, transcript.denied) == (4, 2)


def test_opencode_errors_are_read() -> None:
    error = {"name": "APIError", "data": {"message": "Unauthorized"}}

    assert _kind(_read(OPENCODE, {"type": "error", "error": error})) is FailureKind.ENDPOINT


def test_cursor_calls_are_counted_when_they_start() -> None:
    def call(subtype: str, tool: Mapping[str, object]) -> dict[str, object]:
        return {"type": "tool_call", "subtype": subtype, "tool_call": tool}

    by_tool = {"mcpToolCall": {"args": {"toolName": "ask_human"}}}
    by_name = {"mcpToolCall": {"args": {"name": "hil-ask_human"}}}
    says = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hm."}]}}

    transcript = _read(
        CURSOR,
        {"type": "system", "subtype": "init", "model": "Auto"},
        call("started", by_tool),
        call("completed", by_tool),
        call("started", by_name),
        call("started", {"readToolCall": {}}),
        says,
        {"type": "result", "subtype": "success", "is_error": False, "result": "Done."},
    )

    assert (transcript.ask_calls, transcript.tool_calls) == (2, 3)
    assert (transcript.model, transcript.final_text) == ("Auto", "Done.")
    assert (transcript.denied, transcript.lost, transcript.own_asks) == (None, None, None)
    assert transcript.failure is None


def test_cursor_failures_are_read_from_the_result_or_from_stderr() -> None:
    failed = {"type": "result", "subtype": "error", "is_error": True, "result": "rate limit"}

    assert _kind(_read(CURSOR, failed, exit_status=1)) is FailureKind.ENDPOINT
    assert _kind(_read(CURSOR, exit_status=1, stderr="not logged in")) is FailureKind.OTHER
