"""What an API family has to do: read a request, write a turn, write an error."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.support.scripted_model.script import Call, Fault, ModelRequest, Turn, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole HTTP answer."""

    status: int = 200
    content_type: str = "application/json"
    body: bytes


class Dialect(Protocol):
    """One API family."""

    def accepts(self, path: str) -> bool:
        """Whether a POST to that path is a request of this family."""
        ...

    def read(self, path: str, key: str, body: bytes) -> ModelRequest:
        """Read one request."""
        ...

    def write(self, path: str, body: bytes, turn: Turn, usage: Usage) -> Reply:
        """Write a turn as the answer to that request, streamed if it asked for that."""
        ...

    def fail(self, fault: Fault) -> Mapping[str, object]:
        """The body of an error in this family's form."""
        ...


def json_reply(document: object) -> Reply:
    """One JSON document."""
    return Reply(body=json.dumps(document).encode())


def event_stream(events: Iterable[tuple[str | None, object]]) -> Reply:
    """Server-sent events: pairs of a name (or none) and a document; a string goes as it is."""
    lines: list[str] = []
    for name, document in events:
        if name is not None:
            lines.append(f"event: {name}\n")
        data = document if isinstance(document, str) else json.dumps(document)
        lines.append(f"data: {data}\n\n")
    return Reply(content_type="text/event-stream", body="".join(lines).encode())


def full_name(call: Call, offered: Iterable[str]) -> str:
    """The offered name that a call's tool has; the bare name where none fits."""
    names = tuple(offered)
    if call.tool in names:
        return call.tool
    return next((name for name in names if name.endswith(f"_{call.tool}")), call.tool)


def joined(parts: Iterable[str | None]) -> str:
    """Texts, a line each; empty ones left out."""
    return "\n".join(part for part in parts if part)
