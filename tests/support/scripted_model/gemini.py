"""Gemini generateContent: what Gemini CLI speaks. The model's name stands in the path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

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

_PATH = re.compile(r"/models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)")


class _Declaration(BaseModel):
    name: str


class _Tools(BaseModel):
    declarations: list[_Declaration] = Field(default=[], alias="functionDeclarations")


class _Response(BaseModel):
    response: dict[str, object] = {}


class _Part(BaseModel):
    text: str | None = None
    call: _Declaration | None = Field(default=None, alias="functionCall")
    response: _Response | None = Field(default=None, alias="functionResponse")


class _Content(BaseModel):
    role: str | None = None
    parts: list[_Part] = []


class _Request(BaseModel):
    contents: list[_Content]
    system: _Content | None = Field(default=None, alias="systemInstruction")
    tools: list[_Tools] | None = None

    def turn(self) -> int:
        return sum(
            content.role == "model" and any(part.call for part in content.parts)
            for content in self.contents
        )

    def names(self) -> list[str]:
        return [item.name for tools in self.tools or [] for item in tools.declarations]


class GeminiGenerate:
    """`POST /v1beta/models/MODEL:generateContent`, streamed or not."""

    def accepts(self, path: str) -> bool:
        return _PATH.search(path) is not None

    def read(self, path: str, key: str, body: bytes) -> ModelRequest:
        request = _Request.model_validate_json(body)
        found = _PATH.search(path)
        parts = [part for content in request.contents for part in content.parts]
        system = request.system.parts if request.system else []
        return ModelRequest(
            path=path,
            model=found["model"] if found else "",
            key=key,
            tools=tuple(request.names()),
            turn=request.turn(),
            said=joined(part.text for part in [*system, *parts]),
            results=tuple(_plain(part.response) for part in parts if part.response),
        )

    def write(self, path: str, body: bytes, turn: Turn, usage: Usage) -> Reply:
        request = _Request.model_validate_json(body)
        answer = {
            "candidates": [
                {
                    "content": {"role": "model", "parts": list(_parts(turn, request))},
                    "finishReason": "STOP",
                    "index": 0,
                }
            ],
            "usageMetadata": {
                "promptTokenCount": usage.input_tokens,
                "candidatesTokenCount": usage.output_tokens,
                "totalTokenCount": usage.input_tokens + usage.output_tokens,
            },
            "modelVersion": "scripted",
            "responseId": f"resp_{request.turn()}",
        }
        found = _PATH.search(path)
        streamed = found is not None and found["verb"] == "streamGenerateContent"
        return event_stream([(None, answer)]) if streamed else json_reply(answer)

    def fail(self, fault: Fault) -> Mapping[str, object]:
        states = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
        state = states.get(fault.status, "INTERNAL")
        return {"error": {"code": fault.status, "status": state, "message": fault.message}}


def _parts(turn: Turn, request: _Request) -> Iterator[dict[str, object]]:
    if turn.text is not None:
        yield {"text": turn.text}
    for index, call in enumerate(turn.calls):
        yield {
            "functionCall": {
                "id": f"call_{request.turn()}_{index}",
                "name": full_name(call, request.names()),
                "args": dict(call.arguments),
            }
        }


def _plain(response: _Response | None) -> str:
    # An MCP result comes as {"output": text}; an error as {"error": text}.
    return joined(str(value) for value in response.response.values()) if response else ""
