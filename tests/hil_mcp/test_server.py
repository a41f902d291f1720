"""The MCP server, in process, in both eras of the protocol."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client

import hil_mcp.session as session_module
from hil_mcp.errors import AgentFacingError
from hil_mcp.events import ClientConnected, Delivery, Question, ToolCall, ToolsListed
from hil_mcp.sandbox.errors import SandboxLimitError
from hil_mcp.scoring import score_session
from hil_mcp.server import REPLY_DEADLINE_S, UNRECORDED, build_server, instructions_for
from hil_mcp.session import CANT_ANSWER, IRRELEVANT, REPLY_RESERVE_S, Session
from hil_mcp.session_log import LogWriteError, SessionLog
from hil_mcp.session_reader import SessionRecord, read_session
from hil_mcp.tools.ask_human import ask_human
from hil_mcp.tools.tool import Arguments, Parameter, Tool
from tests.support.judges import HeldJudge, RuleJudge
from tests.support.sessions import make_session

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from judge.verdict import Judge

ERAS = ("legacy", "2026-07-28")
JUDGE = RuleJudge(lambda question: "a" if "a mean" in question else None)


def _tool(handler: Callable[[Arguments], Awaitable[str]], *, name: str = "echo") -> Tool:
    return Tool(
        name=name,
        description="Give the text back.",
        parameters=(
            Parameter(name="text", description="Any text."),
            Parameter(name="times", description="How often.", type="integer", required=False),
            Parameter(name="loud", description="In capitals.", type="boolean", required=False),
        ),
        handler=handler,
    )


async def _echo(arguments: Arguments) -> str:
    text = arguments.text("text") * arguments.integer("times", 1)
    return text.upper() if arguments.flag("loud") else text


@asynccontextmanager
async def _served(
    path: Path, *tools: Tool, judge: Judge = JUDGE, era: str = "legacy"
) -> AsyncGenerator[tuple[Client, Session]]:
    session = make_session(path / "session.jsonl", judge)
    server = build_server(session, [ask_human(session), *tools])
    with anyio.fail_after(10):
        async with Client(server, mode=era) as client:
            yield client, session
        await session.close("disconnected")


def _text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert result.structured_content is None
    return block.text


async def _at_once(client: Client, *questions: str) -> None:
    async with anyio.create_task_group() as tasks:
        for question in questions:
            tasks.start_soon(client.call_tool, "ask_human", {"question": question})


async def _ask_and_go(client: Client, judge: HeldJudge) -> None:
    """Ask, and give the call up once the judge works on it."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "ask_human", {"question": "What does a mean?"})
        await judge.has_begun.wait()
        tasks.cancel_scope.cancel()


def _log(path: Path) -> SessionRecord:
    return read_session(path / "session.jsonl")


@pytest.mark.parametrize("era", ERAS)
async def test_a_question_is_answered_with_the_resolution_and_nothing_else(
    tmp_path: Path, era: str
) -> None:
    async with _served(tmp_path, era=era) as (client, _):
        result = await client.call_tool("ask_human", {"question": "What does a mean?"})

    assert _text(result) == "Answer for a."
    assert not result.is_error
    whole = result.model_dump_json()
    assert all(word not in whole for word in ("blocker", "remaining", 'cap"', "confidence"))


@pytest.mark.parametrize("era", ERAS)
async def test_the_client_and_the_tools_it_listed_stand_in_the_log(
    tmp_path: Path, era: str
) -> None:
    async with _served(tmp_path, _tool(_echo), era=era) as (client, _):
        listed = await client.list_tools()
        await client.call_tool("echo", {"text": "x"})

    assert [tool.name for tool in listed.tools] == ["ask_human", "echo"]
    record = _log(tmp_path)
    (connected,) = record.of(ClientConnected)
    assert (connected.connection, connected.transport) == (1, "memory")
    assert connected.protocol_version is not None
    assert all(listing.tools == ["ask_human", "echo"] for listing in record.of(ToolsListed))


async def test_tools_are_listed_with_flat_schemas_and_no_promise_of_structure(
    tmp_path: Path,
) -> None:
    async with _served(tmp_path, _tool(_echo)) as (client, _):
        listed = await client.list_tools()

    for tool in listed.tools:
        assert tool.output_schema is None
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert set(tool.input_schema) == {"type", "properties", "required"}
        for schema in tool.input_schema["properties"].values():
            assert set(schema) == {"type", "description"}
    assert listed.tools[1].input_schema["required"] == ["text"]


async def test_neither_prompts_nor_resources_are_offered(tmp_path: Path) -> None:
    async with _served(tmp_path) as (client, _):
        capabilities = client.server_capabilities

    assert capabilities is not None
    assert capabilities.tools is not None
    assert capabilities.prompts is None
    assert capabilities.resources is None


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"question": 5},
        {"question": None},
        {"question": ["a", "b"]},
        {"q": "x"},
        {"questions": [{"question": "Which hour is late?"}]},
        {"question": True},
    ],
)
async def test_wrong_arguments_are_an_error_that_names_them_and_no_question(
    tmp_path: Path, arguments: dict[str, object]
) -> None:
    async with _served(tmp_path) as (client, _):
        result = await client.call_tool("ask_human", arguments)

    assert result.is_error
    assert "'question'" in _text(result)
    record = _log(tmp_path)
    assert record.of(Question) == []
    assert [call.tool for call in record.of(ToolCall)] == ["ask_human"]


async def test_unknown_arguments_are_ignored(tmp_path: Path) -> None:
    async with _served(tmp_path, _tool(_echo)) as (client, _):
        result = await client.call_tool(
            "echo", {"text": "ab", "times": 2, "loud": True, "wait_for_previous": False}
        )

    assert _text(result) == "ABAB"


async def test_an_unknown_tool_is_an_error_result_and_in_the_log(tmp_path: Path) -> None:
    async with _served(tmp_path) as (client, _):
        result = await client.call_tool("get_metrics", {})

    assert (result.is_error, _text(result)) == (True, "Error: there is no tool 'get_metrics'.")
    assert [call.tool for call in _log(tmp_path).of(ToolCall)] == ["get_metrics"]


async def test_an_error_meant_for_the_agent_reaches_it(tmp_path: Path) -> None:
    async def refuse(_: Arguments) -> str:
        raise AgentFacingError("Error: no such file.")

    async with _served(tmp_path, _tool(refuse)) as (client, _):
        result = await client.call_tool("echo", {"text": "x"})

    assert (result.is_error, _text(result)) == (True, "Error: no such file.")


async def test_no_other_exception_tells_the_agent_what_it_holds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def leak(_: Arguments) -> str:
        raise ValueError("Answer for b.")

    async with _served(tmp_path, _tool(leak)) as (client, _):
        result = await client.call_tool("echo", {"text": "x"})

    assert result.is_error
    assert "Answer" not in _text(result)
    assert "does not declare" in caplog.text


async def test_other_tools_answer_while_a_question_is_judged(tmp_path: Path) -> None:
    judge = HeldJudge("a")

    async with _served(tmp_path, _tool(_echo), judge=judge) as (client, _):
        replies: list[str] = []

        async def ask() -> None:
            result = await client.call_tool("ask_human", {"question": "What does a mean?"})
            replies.append(_text(result))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await judge.has_begun.wait()
            replies.append(_text(await client.call_tool("echo", {"text": "meanwhile"})))
            judge.let_go.set()

    assert replies == ["meanwhile", "Answer for a."]


async def test_sixteen_questions_at_once_get_sixteen_numbers(tmp_path: Path) -> None:
    async with _served(tmp_path) as (client, _):
        await _at_once(client, *(f"Is it {number}?" for number in range(16)))

    assert sorted(q.number for q in _log(tmp_path).of(Question)) == list(range(1, 17))


async def test_a_question_counts_the_calls_that_came_before_it(tmp_path: Path) -> None:
    async with _served(tmp_path, _tool(_echo)) as (client, _):
        await client.call_tool("echo", {"text": "one"})
        await client.call_tool("echo", {"text": "two"})
        result = await client.call_tool("ask_human", {"question": "What is this?"})

    assert _text(result) == IRRELEVANT
    assert _log(tmp_path).of(Question)[0].tool_calls_before == 2


async def test_a_long_reply_is_cut_in_the_log_and_whole_for_the_agent(tmp_path: Path) -> None:
    async with _served(tmp_path, _tool(_echo)) as (client, _):
        result = await client.call_tool("echo", {"text": "x", "times": 30_000})

    assert len(_text(result)) == 30_000
    (call,) = _log(tmp_path).of(ToolCall)
    assert (len(call.result_text), call.result_length) == (20_000, 30_000)


async def test_health_checks_leave_no_session(tmp_path: Path) -> None:
    async with _served(tmp_path / "one") as (client, _):
        await client.list_tools()

    assert list(tmp_path.iterdir()) == []


async def test_an_agent_that_goes_while_its_question_is_judged_leaves_a_whole_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "SHUTDOWN_GRACE_S", 0.05)
    judge = HeldJudge("a")

    async with _served(tmp_path, judge=judge) as (client, _):
        await _ask_and_go(client, judge)

    record = _log(tmp_path)
    (question,) = record.of(Question)
    assert (question.outcome, question.blocker_id) == ("cant_answer", None)
    assert question.error is not None
    assert question.error.class_ == "agent_gone"
    assert record.of(Delivery) == [Delivery(number=1, delivered=False)]
    assert record.is_ended
    score = score_session(record)
    assert (score.figures.n_questions, score.is_valid, score.undelivered) == (1, True, 1)


async def test_a_judge_gets_no_longer_than_what_is_left_of_its_call(tmp_path: Path) -> None:
    session = make_session(tmp_path / "session.jsonl", HeldJudge("a"))
    await session.begin()

    with anyio.fail_after(REPLY_RESERVE_S):
        reply = await session.ask("What does a mean?", meta={})
    await session.close("disconnected")

    (question,) = _log(tmp_path).of(Question)
    assert reply == CANT_ANSWER
    assert question.error is not None
    assert question.error.class_ == "timeout"
    assert _log(tmp_path).of(Delivery) == []


async def test_waiting_for_the_judge_to_get_ready_is_part_of_the_first_call_s_time(
    tmp_path: Path,
) -> None:
    left: list[float] = []

    async def settled() -> None:
        left.append(anyio.current_effective_deadline() - anyio.current_time())

    session = make_session(tmp_path / "session.jsonl", JUDGE, settled=settled)
    async with Client(build_server(session, [_tool(_echo)])) as client:
        await client.call_tool("echo", {"text": "x"})
    await session.close("disconnected")

    assert 0 < left[0] <= REPLY_DEADLINE_S


async def test_an_agent_that_goes_just_before_the_verdict_has_discovered_what_it_did_not_read(
    tmp_path: Path,
) -> None:
    judge = HeldJudge("a")

    async with _served(tmp_path, judge=judge) as (client, _):
        await _ask_and_go(client, judge)
        await judge.has_begun_again.wait()
        judge.let_go.set()

    score = score_session(_log(tmp_path))
    assert (score.figures.n_blockers_discovered, score.n_discovered_delivered) == (1, 0)


def test_instructions_are_short_neutral_and_name_only_the_tools_there_are() -> None:
    submit = _tool(_echo, name="submit_sql")

    text = instructions_for([submit])

    assert "submit_sql" in text
    assert "ask_human" not in text
    assert len(text) < 2000


async def test_what_the_agent_got_wrong_is_no_fault_of_ours(tmp_path: Path) -> None:
    async def refuse(arguments: Arguments) -> str:
        raise AgentFacingError("Error: no such thing.")

    async with _served(tmp_path, _tool(refuse)) as (client, session):
        await client.call_tool("echo", {"text": "x"})
        await client.call_tool("ask_human", {})

        assert session.faults == []


async def test_a_call_that_could_not_be_recorded_is_a_fault_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: SessionLog, *bodies: object, durable: bool = True) -> None:
        raise LogWriteError("no space left")

    async with _served(tmp_path, _tool(_echo)) as (client, session):
        await client.call_tool("echo", {"text": "x"})
        monkeypatch.setattr(SessionLog, "append", full)
        unrecorded = await client.call_tool("echo", {"text": "x"})
        unanswered = await client.call_tool("ask_human", {"question": "What does a mean?"})
        monkeypatch.undo()

        assert [_text(unrecorded), _text(unanswered)] == [UNRECORDED, UNRECORDED]
        assert set(session.faults) == {"a call could not be recorded"}


async def test_a_sandbox_that_the_agent_has_filled_is_no_fault_of_ours(tmp_path: Path) -> None:
    async def full(arguments: Arguments) -> str:
        raise SandboxLimitError("the container was stopped: it wrote too much")

    async with _served(tmp_path, _tool(full)) as (client, session):
        reply = await client.call_tool("echo", {"text": "x"})

        assert reply.is_error
        assert _text(reply) == "Error: the container was stopped: it wrote too much."
        assert session.faults == []
