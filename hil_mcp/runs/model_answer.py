"""What a model's answer says of its tokens and faults, read as it passes, streamed or not.

Nothing of the answer is kept but the line that is being read, or a whole document without lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import AliasChoices, BaseModel, Field, TypeAdapter, ValidationError

_MARKS = (b'"usage"', b'"usageMetadata"', b'"error"')
# More than any answer of a model has; such a line or document is not read.
_LIMIT_BYTES = 64_000_000
# Faults told inside an answer that began well, and are the endpoint's.
_ENDPOINT_FAULT = re.compile(
    r"overloaded|rate_?limit|server_error|api_error|quota|billing|authentication|timeout"
    r"|unavailable|exhausted|internal|\b(401|403|429|5\d\d)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """Tokens of one answer or of many."""

    input_tokens: int = 0
    """With those read from a cache and written to one."""
    cached_tokens: int = 0
    """Those of `input_tokens` that were read from a cache."""
    output_tokens: int = 0
    """With those of hidden reasoning."""

    def __add__(self, other: TokenCount) -> TokenCount:
        """The sum."""
        return TokenCount(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class _Details(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    # Anthropic messages, whose input leaves out the cache, and OpenAI responses
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    input_tokens_details: _Details | None = None
    # OpenAI chat completions
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    # Gemini
    prompt: int | None = Field(default=None, alias="promptTokenCount")
    tool_prompt: int | None = Field(default=None, alias="toolUsePromptTokenCount")
    cached_prompt: int | None = Field(default=None, alias="cachedContentTokenCount")
    candidates: int | None = Field(default=None, alias="candidatesTokenCount")
    thoughts: int | None = Field(default=None, alias="thoughtsTokenCount")

    def count(self) -> TokenCount:
        read = self.cache_read_input_tokens or 0
        details = self.input_tokens_details or self.prompt_tokens_details
        plain = self.input_tokens or self.prompt_tokens or self.prompt or 0
        beside = (self.cache_creation_input_tokens or 0) + (self.tool_prompt or 0)
        inside = (details.cached_tokens if details else None) or self.cached_prompt or 0
        hidden = self.thoughts or 0
        return TokenCount(
            input_tokens=plain + beside + read,
            cached_tokens=inside + read,
            output_tokens=(self.output_tokens or self.completion_tokens or self.candidates or 0)
            + hidden,
        )


class _Fault(BaseModel):
    type: str | None = None
    code: str | int | None = None
    status: str | int | None = None
    message: str | None = None

    def kind(self) -> str:
        return " ".join(str(part) for part in (self.type, self.code, self.status) if part)


class _Inner(BaseModel):
    usage: _Usage | None = None
    error: _Fault | None = None


class _Event(BaseModel):
    """One event of a stream, or a whole answer."""

    type: str | None = None
    code: str | int | None = None
    usage: _Usage | None = Field(
        default=None, validation_alias=AliasChoices("usage", "usageMetadata")
    )
    error: _Fault | None = None
    message: _Inner | str | None = None
    """The start of an answer (Anthropic), or what an error says (OpenAI responses)."""
    response: _Inner | None = None

    def usages(self) -> list[_Usage]:
        inner = [part for part in (self.message, self.response) if isinstance(part, _Inner)]
        found = (self.usage, *(part.usage for part in inner))
        return [usage for usage in found if usage is not None]

    def fault(self) -> _Fault | None:
        inside = self.error or (self.response.error if self.response else None)
        if inside is None and self.type == "error":
            message = self.message if isinstance(self.message, str) else None
            return _Fault(type=self.type, code=self.code, message=message)
        return inside


_DOCUMENT: TypeAdapter[_Event | list[_Event]] = TypeAdapter(_Event | list[_Event])


class AnswerScan:
    """Reads one answer. Whatever it does not understand it passes over."""

    def __init__(self, *, is_event_stream: bool) -> None:
        """Begin an answer."""
        self._is_event_stream = is_event_stream
        self._pieces: list[bytes] = []
        self._size = 0
        self.tokens: TokenCount | None = None
        """The answer's tokens so far; None where it tells of none."""
        self.fault: str | None = None
        """What the answer says has failed at the endpoint after it began well."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if not self._is_event_stream or b"\n" not in chunk:
            self._keep(chunk)
            return
        first, *lines, rest = chunk.split(b"\n")
        self._keep(first)
        self._end_line()
        for line in lines:
            self._read_line(line)
        self._keep(rest)

    def close(self) -> None:
        """The answer has ended."""
        if self._is_event_stream:
            self._end_line()
        elif self._size <= _LIMIT_BYTES:
            self._read(b"".join(self._pieces))

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= _LIMIT_BYTES:
            self._pieces.append(piece)

    def _end_line(self) -> None:
        if self._size <= _LIMIT_BYTES:
            self._read_line(b"".join(self._pieces))
        self._pieces.clear()
        self._size = 0

    def _read_line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._read(line[5:])

    def _read(self, document: bytes) -> None:
        if not any(mark in document for mark in _MARKS):
            return
        try:
            parsed = _DOCUMENT.validate_json(document)
        except ValidationError:
            return
        for event in parsed if isinstance(parsed, list) else [parsed]:
            for usage in event.usages():
                self._take(usage.count())
            fault = event.fault()
            if fault is not None and _ENDPOINT_FAULT.search(fault.kind()):
                self.fault = f"{fault.kind()}: {fault.message or ''}"

    def _take(self, count: TokenCount) -> None:
        """Counts of one answer come in several events, each a part or the sum so far."""
        old = self.tokens or TokenCount()
        self.tokens = TokenCount(
            input_tokens=max(old.input_tokens, count.input_tokens),
            cached_tokens=max(old.cached_tokens, count.cached_tokens),
            output_tokens=max(old.output_tokens, count.output_tokens),
        )
