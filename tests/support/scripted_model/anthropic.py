"""Anthropic messages: what Claude Code speaks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import BaseModel

from tests.support.scripted_model.dialect import (
    Reply,
    event_stream,
    full_name,
    joined,
    json_reply,
)
from tests.support.scripted_model.script import Fault, ModelRequest, Turn, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class _Block(BaseModel):
    type: str
    text: str | None = None
    content: str | list[_Block] | None = None

    def plain(self) -> str:
        if isinstance(self.content, list):
            return joined(block.text for block in self.content)
        return self.content or self.text or ""


class _Message(BaseModel):
    role: str
    content: str | list[_Block]

    def blocks(self) -> list[_Block]:
        if isinstance(self.content, str):
            return [_Block(type="text", text=self.content)]
        return self.content


class _Tool(BaseModel):
    name: str


class _Request(BaseModel):
    model: str
    system: str | list[_Block] = ""
    messages: list[_Message]
    tools: list[_Tool] = []
    stream: bool = False

    def turn(self) -> int:
        return sum(
            message.role == "assistant"
            and any(block.type == "tool_use" for block in message.blocks())
            for message in self.messages
        )


class AnthropicMessages:
    """`POST /v1/messages`."""

    def accepts(self, path: str) -> bool:
        return path.endswith("/messages")

    def read(self, path: str, key: str, body: bytes) -> ModelRequest:
        request = _Request.model_validate_json(body)
        system = request.system
        blocks = [b for m in request.messages if m.role == "user" for b in m.blocks()]
        return ModelRequest(
            path=path,
            model=request.model,
            key=key,
            tools=tuple(tool.name for tool in request.tools),
            turn=request.turn(),
            said=joined(
                [
                    system if isinstance(system, str) else joined(b.text for b in system),
                    *(block.text for block in blocks),
                ]
            ),
            results=tuple(block.plain() for block in blocks if block.type == "tool_result"),
        )

    def write(self, path: str, body: bytes, turn: Turn, usage: Usage) -> Reply:
        request = _Request.model_validate_json(body)
        blocks = list(_blocks(turn, request))
        stop = "tool_use" if turn.calls else "end_turn"
        message: dict[str, object] = {
            "id": f"msg_{request.turn()}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        }
        if not request.stream:
            return json_reply(message)
        return event_stream((str(event["type"]), event) for event in _events(message, blocks))

    def fail(self, fault: Fault) -> Mapping[str, object]:
        kinds = {401: "authentication_error", 429: "rate_limit_error"}
        kind = kinds.get(fault.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": fault.message}}


def _blocks(turn: Turn, request: _Request) -> Iterator[dict[str, object]]:
    if turn.text is not None:
        yield {"type": "text", "text": turn.text}
    for number, call in enumerate(turn.calls):
        yield {
            "type": "tool_use",
            "id": f"toolu_{request.turn()}_{number}",
            "name": full_name(call, (tool.name for tool in request.tools)),
            "input": dict(call.arguments),
        }


def _events(
    message: dict[str, object], blocks: list[dict[str, object]]
) -> Iterator[dict[str, object]]:
    empty: dict[str, object] = {**message, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": empty}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start: dict[str, object] = {**block, "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}
