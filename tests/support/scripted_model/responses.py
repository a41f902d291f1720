"""OpenAI responses: what Codex speaks. MCP tools come in namespaces, one a server."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pydantic import BaseModel

from tests.support.scripted_model.dialect import Reply, event_stream, joined, json_reply
from tests.support.scripted_model.script import Call, Fault, ModelRequest, Turn, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CALL_ID = re.compile(r"call_(\d+)_\d+")


class _Tool(BaseModel):
    type: str
    name: str | None = None
    tools: list[_Tool] = []

    def names(self) -> Iterator[tuple[str | None, str]]:
        """Pairs of namespace (or none) and name."""
        if self.type == "namespace":
            for tool in self.tools:
                yield from ((self.name, name) for _, name in tool.names())
        else:
            yield None, self.name or self.type


class _Part(BaseModel):
    text: str | None = None


class _Item(BaseModel):
    type: str = "message"
    role: str | None = None
    call_id: str | None = None
    content: str | list[_Part] | None = None
    output: str | list[_Part] | None = None


class _Request(BaseModel):
    model: str
    instructions: str | None = None
    input: str | list[_Item]
    tools: list[_Tool] = []
    stream: bool = False

    def items(self) -> list[_Item]:
        if isinstance(self.input, str):
            return [_Item(role="user", content=self.input)]
        return self.input

    def turn(self) -> int:
        ids = (_CALL_ID.fullmatch(item.call_id or "") for item in self.items())
        return len({found[1] for found in ids if found})

    def names(self) -> list[tuple[str | None, str]]:
        return [pair for tool in self.tools for pair in tool.names()]


class OpenAIResponses:
    """`POST /v1/responses`."""

    def accepts(self, path: str) -> bool:
        return path.endswith("/responses")

    def read(self, path: str, key: str, body: bytes) -> ModelRequest:
        request = _Request.model_validate_json(body)
        return ModelRequest(
            path=path,
            model=request.model,
            key=key,
            tools=tuple(f"{space}__{name}" if space else name for space, name in request.names()),
            turn=request.turn(),
            said=joined([request.instructions, *(_plain(i.content) for i in request.items())]),
            results=tuple(
                _plain(item.output)
                for item in request.items()
                if item.type == "function_call_output"
            ),
        )

    def write(self, path: str, body: bytes, turn: Turn, usage: Usage) -> Reply:
        request = _Request.model_validate_json(body)
        output = list(_output(turn, request))
        response: dict[str, object] = {
            "id": f"resp_{request.turn()}",
            "object": "response",
            "status": "completed",
            "model": request.model,
            "output": output,
            "usage": {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "total_tokens": usage.input_tokens + usage.output_tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }
        if not request.stream:
            return json_reply(response)
        return event_stream((str(event["type"]), event) for event in _events(response, output))

    def fail(self, fault: Fault) -> Mapping[str, object]:
        codes = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
        code = codes.get(fault.status, "server_error")
        return {"error": {"type": code, "code": code, "message": fault.message}}


def _output(turn: Turn, request: _Request) -> Iterator[dict[str, object]]:
    number = request.turn()
    if turn.text is not None:
        yield {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": turn.text, "annotations": []}],
        }
    for index, call in enumerate(turn.calls):
        space, name = _resolve(call, request)
        yield {
            "type": "function_call",
            "id": f"fc_{number}_{index}",
            "call_id": f"call_{number}_{index}",
            "name": name,
            "arguments": json.dumps(dict(call.arguments)),
            "status": "completed",
            **({"namespace": space} if space else {}),
        }


def _resolve(call: Call, request: _Request) -> tuple[str | None, str]:
    names = request.names()
    exact = next((pair for pair in names if pair[1] == call.tool), None)
    ending = next((pair for pair in names if pair[1].endswith(f"_{call.tool}")), None)
    return exact or ending or (None, call.tool)


def _events(
    response: dict[str, object], output: list[dict[str, object]]
) -> Iterator[dict[str, object]]:
    yield {"type": "response.created", "response": {"id": response["id"]}}
    for index, item in enumerate(output):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response}


def _plain(content: str | list[_Part] | None) -> str:
    return joined(part.text for part in content) if isinstance(content, list) else content or ""
