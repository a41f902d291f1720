"""The event stream of Claude Code's headless runs, `stream-json`, which Qwen Code writes too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import AliasChoices, BaseModel, Field

from clients.client import ASK_TOOL, SERVER_NAME, Finished
from clients.transcript import (
    Failure,
    FailureKind,
    Transcript,
    failure_of,
    is_lost,
    read_events,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

TOOL_PREFIX = f"mcp__{SERVER_NAME}__"
_OWN_ASKS = ("AskUserQuestion", "ask_user_question")


class _ServerState(BaseModel):
    name: str
    status: str


class _Text(BaseModel):
    text: str | None = None


class _Block(BaseModel):
    type: str
    id: str | None = None
    tool_use_id: str | None = None
    name: str = ""
    content: str | list[_Text] | None = None
    is_error: bool | None = None

    def plain(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


class _Usage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class _Message(BaseModel):
    id: str | None = None
    content: str | list[_Block] = []
    usage: _Usage | None = None

    def blocks(self) -> list[_Block]:
        return self.content if isinstance(self.content, list) else []


class _Denial(BaseModel):
    tool_name: str


class _Error(BaseModel):
    message: str = ""


class _Event(BaseModel):
    type: str
    subtype: str | None = None
    message: _Message | None = None
    # system/init
    tools: list[str] = []
    mcp_servers: list[_ServerState] = []
    model: str | None = None
    version: str | None = Field(
        default=None, validation_alias=AliasChoices("claude_code_version", "qwen_code_version")
    )
    # result
    is_error: bool = False
    api_error_status: int | None = None
    result: str | None = None
    errors: list[str] = []
    error: _Error | str | None = None
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    usage: _Usage | None = None
    permission_denials: list[_Denial] = []


def read_stream(finished: Finished) -> Transcript:
    """What a run's events say."""
    events, unread = read_events(finished.stdout, _Event)
    init = next((event for event in events if event.subtype == "init"), None)
    result = next((event for event in reversed(events) if event.type == "result"), None)
    calls = [block.name for block in _blocks(events) if block.type == "tool_use"]
    usage = result.usage if result else None
    cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens if usage else 0
    return Transcript(
        ask_calls=calls.count(TOOL_PREFIX + ASK_TOOL),
        tool_calls=len(calls),
        turns=_answers(events) if events else None,
        input_tokens=usage.input_tokens + cached if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        cost_usd=result.total_cost_usd if result else None,
        model=init.model if init else None,
        version=init.version if init else None,
        final_text=(result.result or "") if result else "",
        offered=_offered(init) if init else None,
        own_asks=sum(name in _OWN_ASKS for name in calls),
        denied=_denied(result),
        lost=_lost(_blocks(events)),
        unread_lines=unread,
        failure=_failure(finished, result),
    )


def _blocks(events: Sequence[_Event]) -> list[_Block]:
    return [block for event in events if event.message for block in event.message.blocks()]


def _answers(events: Sequence[_Event]) -> int:
    """Answers of the model. An answer comes in several events; the agent's own words cost none."""
    messages = [e.message for e in events if e.type == "assistant" and e.message]
    return len({m.id for m in messages if m.usage and m.usage.output_tokens > 0})


def _offered(init: _Event) -> bool:
    states = {server.name: server.status for server in init.mcp_servers}
    return states.get(SERVER_NAME) == "connected" and TOOL_PREFIX + ASK_TOOL in init.tools


def _denied(result: _Event | None) -> int:
    denials = result.permission_denials if result else []
    return sum(denial.tool_name.startswith(TOOL_PREFIX) for denial in denials)


def _lost(blocks: Sequence[_Block]) -> int:
    ours = {b.id for b in blocks if b.type == "tool_use" and b.name.startswith(TOOL_PREFIX)}
    failed = [block for block in blocks if block.tool_use_id in ours and block.is_error]
    return sum(is_lost(block.plain()) for block in failed)


def _failure(finished: Finished, result: _Event | None) -> Failure | None:
    if result is None:
        if finished.exit_status == 0:
            return Failure(kind=FailureKind.OTHER, message="it ended without a result")
        return failure_of(finished.complaint())
    error = result.error.message if isinstance(result.error, _Error) else ""
    message = "; ".join(result.errors) or error or result.result or result.subtype or ""
    if result.api_error_status is not None:
        return Failure(kind=FailureKind.ENDPOINT, message=message)
    kinds = {
        "error_max_turns": FailureKind.TURN_LIMIT,
        "error_max_budget_usd": FailureKind.COST_LIMIT,
    }
    if result.subtype in kinds:
        return Failure(kind=kinds[result.subtype], message=message)
    if result.stop_reason == "refusal":
        return Failure(kind=FailureKind.REFUSED, message=message)
    if result.is_error or finished.exit_status != 0:
        return failure_of(message)
    return None
