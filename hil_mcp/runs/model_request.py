"""What an agent asks its model for, read from the request's path and body.

Four API families: Anthropic messages, OpenAI responses and chat completions, Gemini
generateContent. One tolerant shape serves all: their names do not collide.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import AliasChoices, BaseModel, Field, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATH = re.compile(
    r"/(?:messages|responses|chat/completions"
    r"|models/(?P<model>[^/]+):(?:generateContent|streamGenerateContent))$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request for an answer of the model."""

    model: str | None
    """As asked; None when it could not be read."""
    tools: tuple[str, ...]
    """Names of the tools offered, with the agent's prefix of the server; of a namespace
    `SPACE__NAME`; a hosted tool without a name stands with its kind."""
    is_readable: bool
    """Whether the body was understood; if not, `tools` says nothing."""


class _Named(BaseModel):
    name: str


class _Tool(BaseModel):
    name: str | None = None
    type: str | None = None
    function: _Named | None = None
    custom: _Named | None = None
    tools: tuple[_Tool, ...] = ()
    declarations: tuple[_Named, ...] = Field(
        default=(), validation_alias=AliasChoices("functionDeclarations", "function_declarations")
    )

    def names(self) -> Iterator[str]:
        named = self.function or self.custom
        if self.declarations:
            yield from (each.name for each in self.declarations)
        elif self.type == "namespace":
            yield from (f"{self.name}__{name}" for tool in self.tools for name in tool.names())
        elif named is not None:
            yield named.name
        elif self.name or self.type:
            yield self.name or self.type or ""


class _Body(BaseModel):
    model: str | None = None
    tools: tuple[_Tool, ...] | None = None


def read_request(path: str, body: bytes) -> ModelRequest | None:
    """Read a POST.

    Args:
        path: Without the query.
        body: As sent.

    Returns:
        None where the path is not one that a model answers on, such as that of a token count.
    """
    found = _PATH.search(path)
    if found is None:
        return None
    parsed = _parse(body)
    if parsed is None:
        return ModelRequest(model=found["model"], tools=(), is_readable=False)
    names = (name for tool in parsed.tools or () for name in tool.names())
    return ModelRequest(model=found["model"] or parsed.model, tools=tuple(names), is_readable=True)


def _parse(body: bytes) -> _Body | None:
    try:
        return _Body.model_validate_json(body)
    except ValidationError:
        pass
    try:
        # Half a surrogate pair, left where an agent cut a text, is JSON to some and not to others.
        return _Body.model_validate(json.loads(body))
    except ValueError:  # a ValidationError is one too
        return None
