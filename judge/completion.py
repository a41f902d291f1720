"""Read a chat completion as servers send it: the text, who wrote it, and whether it was cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from judge.call_error import CallError
from judge.server_text import is_html, one_line, parsed, quoted, sound_json


def _text_of(content: object) -> object:
    """Content as one text; some servers send a list of parts."""
    if not isinstance(content, list):
        return content
    parts = [
        cast("dict[str, object]", part)
        for part in cast("list[object]", content)
        if isinstance(part, dict)
    ]
    texts = [part.get("text") for part in parts if part.get("type", "text") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def whole_number(value: object) -> int | None:
    """The value if it is an integer; servers put anything into fields that only inform."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def fields_or_none(value: object) -> object:
    """The value if it is an object."""
    return cast("object", value) if isinstance(value, dict) else None


Name = Annotated[str | None, BeforeValidator(_string)]
WholeNumber = Annotated[int | None, BeforeValidator(whole_number)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")

    content: Annotated[str | None, BeforeValidator(_text_of)] = None


class _Choice(BaseModel):
    model_config = ConfigDict(extra="ignore")

    message: _Message
    finish_reason: Name = None


class _Usage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    prompt_tokens: WholeNumber = None
    completion_tokens: WholeNumber = None


class _Completion(BaseModel):
    model_config = ConfigDict(extra="ignore")

    model: Name = None
    choices: list[_Choice]
    usage: Annotated[_Usage | None, BeforeValidator(fields_or_none)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What a model wrote to one prompt."""

    text: str
    model: str | None
    """Model id as the server reports it."""
    is_cut: bool
    """Whether the length limit ended the reply; its text may then be empty."""
    tokens: int | None
    """Prompt and completion together; None when not reported."""


def read_completion(body: bytes) -> ChatReply:
    """Read the body of a successful `POST /chat/completions`.

    Raises:
        CallError: It is no completion, or an empty one.
    """
    try:
        completion = _Completion.model_validate_json(sound_json(parsed(body)))
    except (ValidationError, ValueError) as exc:
        raise CallError(
            f"the reply is no chat completion: {quoted(body)}",
            error_class="parse",
            is_transient=True,
            culprit="address" if is_html(body) else None,
        ) from exc
    choice = completion.choices[0] if completion.choices else None
    text = (choice.message.content or "") if choice is not None else ""
    # A model that thinks can use up all its room before the first word of its answer.
    is_cut = choice is not None and choice.finish_reason == "length"
    if not text.strip() and not is_cut:
        raise CallError("the reply is empty", error_class="parse", is_transient=True)
    name = None if completion.model is None else one_line(completion.model)
    return ChatReply(text=text, model=name, is_cut=is_cut, tokens=_total(completion.usage))


def _total(usage: _Usage | None) -> int | None:
    if usage is None or usage.prompt_tokens is None:
        return None
    return usage.prompt_tokens + (usage.completion_tokens or 0)
