"""Read a server's list of models, and find the one that was asked for in it."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from judge.call_error import CallError
from judge.completion import WholeNumber, fields_or_none
from judge.server_text import parsed, quoted, sound_json

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEWEST = ":latest"
"""What Ollama adds to a name without a tag."""


def _entries(data: object) -> object:
    """Those entries that name a model; Ollama sends null for none."""
    if data is None:
        return []
    if not isinstance(data, list):
        return data
    listed = cast("list[object]", data)
    return [
        cast("dict[str, object]", entry)
        for entry in listed
        if isinstance(entry, dict) and isinstance(cast("dict[str, object]", entry).get("id"), str)
    ]


class _Meta(BaseModel):
    model_config = ConfigDict(extra="ignore")

    n_ctx: WholeNumber = None


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str
    max_model_len: WholeNumber = None  # vLLM, SGLang
    context_length: WholeNumber = None  # OpenRouter, Together
    context_window: WholeNumber = None  # Groq
    max_context_length: WholeNumber = None  # LM Studio, Mistral
    meta: Annotated[_Meta | None, BeforeValidator(fields_or_none)] = None  # llama.cpp

    def context_tokens(self) -> int | None:
        """The smallest window that is told; 0 means unknown to some servers."""
        told = (
            self.max_model_len,
            self.context_length,
            self.context_window,
            self.max_context_length,
            self.meta.n_ctx if self.meta else None,
        )
        return min((tokens for tokens in told if tokens is not None and tokens > 0), default=None)


class _Models(BaseModel):
    model_config = ConfigDict(extra="ignore")

    data: Annotated[list[_Model], BeforeValidator(_entries)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """One model that a server offers."""

    name: str
    context_tokens: int | None
    """Longest prompt and reply together; None when the server does not say."""


def read_models(body: bytes) -> tuple[ServedModel, ...]:
    """Read the body of a successful `GET /models`.

    Raises:
        CallError: It is no list of models.
    """
    try:
        value = parsed(body)
        listing: object = {"data": cast("object", value)} if isinstance(value, list) else value
        listed = _Models.model_validate_json(sound_json(listing))
    except (ValidationError, ValueError) as exc:
        raise CallError(
            f"the list of models cannot be read: {quoted(body)}",
            error_class="parse",
            is_transient=True,
            culprit="address",
        ) from exc
    return tuple(
        ServedModel(name=model.id, context_tokens=model.context_tokens()) for model in listed.data
    )


def offered(served: Sequence[ServedModel], model: str) -> ServedModel | None:
    """The entry that stands for a model; None when it is not offered.

    An entry may be the name, the name with or without `:latest`, or a pattern such as `openai/*`
    of a gateway that passes every such name on.
    """
    for entry in served:
        if entry.name == model:
            return entry
    for entry in served:
        if entry.name.removesuffix(_NEWEST) == model.removesuffix(_NEWEST):
            return entry
    for entry in served:
        if "*" in entry.name and fnmatchcase(model, entry.name):
            return entry
    return None
