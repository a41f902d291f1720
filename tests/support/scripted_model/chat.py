"""OpenAI chat completions: what opencode and Qwen Code speak."""

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


class _Function(BaseModel):
    name: str


class _Tool(BaseModel):
    function: _Function


class _Part(BaseModel):
    text: str | None = None


class _Message(BaseModel):
    role: str
    content: str | list[_Part] | None = None
    tool_calls: list[_Tool] | None = None

    def plain(self) -> str:
        if isinstance(self.content, list):
            return joined(part.text for part in self.content)
        return self.content or ""


class _Request(BaseModel):
    model: str
    messages: list[_Message]
    tools: list[_Tool] | None = None
    stream: bool = False

    def turn(self) -> int:
        return sum(bool(message.tool_calls) for message in self.messages)

    def names(self) -> list[str]:
        return [tool.function.name for tool in self.tools or []]


class ChatCompletions:
    """`POST /v1/chat/completions`."""

    def accepts(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def read(self, path: str, key: str, body: bytes) -> ModelRequest:
        request = _Request.model_validate_json(body)
        return ModelRequest(
            path=path,
            model=request.model,
            key=key,
            tools=tuple(request.names()),
            turn=request.turn(),
            said=joined(m.plain() for m in request.messages if m.role in ("system", "user")),
            results=tuple(m.plain() for m in request.messages if m.role == "tool"),
        )

    def write(self, path: str, body: bytes, turn: Turn, usage: Usage) -> Reply:
        request = _Request.model_validate_json(body)
        message: dict[str, object] = {"role": "assistant", "content": turn.text or ""}
        if turn.calls:
            message["tool_calls"] = list(_calls(turn, request))
        finish = "tool_calls" if turn.calls else "stop"
        tokens = {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
        }
        answer: dict[str, object] = {
            "id": f"chat_{request.turn()}",
            "created": 1,
            "model": request.model,
        }
        if not request.stream:
            choice = {"index": 0, "message": message, "finish_reason": finish}
            answer |= {"object": "chat.completion", "choices": [choice], "usage": tokens}
            return json_reply(answer)
        answer["object"] = "chat.completion.chunk"
        whole = {"index": 0, "delta": message, "finish_reason": None}
        end: dict[str, object] = {"index": 0, "delta": {}, "finish_reason": finish}
        return event_stream(
            [
                (None, {**answer, "choices": [whole]}),
                (None, {**answer, "choices": [end]}),
                (None, {**answer, "choices": [], "usage": tokens}),
                (None, "[DONE]"),
            ]
        )

    def fail(self, fault: Fault) -> Mapping[str, object]:
        codes = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
        code = codes.get(fault.status, "server_error")
        return {"error": {"type": code, "code": code, "message": fault.message}}


def _calls(turn: Turn, request: _Request) -> Iterator[dict[str, object]]:
    for index, call in enumerate(turn.calls):
        yield {
            "index": index,
            "id": f"call_{request.turn()}_{index}",
            "type": "function",
            "function": {
                "name": full_name(call, request.names()),
                "arguments": json.dumps(dict(call.arguments)),
            },
        }
