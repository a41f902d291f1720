"""The one HTTP client: an OpenAI-compatible server, spoken to over one pool of connections.

One call is one request: no retries here (`judge.retries`), no reading of what the model wrote
(`judge.reply`). Foreign errors become `CallError` by the tables below and nothing else leaves.
"""

from __future__ import annotations

import email.utils
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from judge.errors import JudgeUsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

CallErrorClass = Literal["connection", "timeout", "http", "parse", "truncated", "internal"]
Culprit = Literal["address", "key", "model", "window", "format"]

REPLY_LIMIT_BYTES = 1_000_000
"""A longer reply is garbage: a verdict has a few hundred bytes."""
_DETAIL_LIMIT = 300
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class CallError(Exception):
    """One request got no usable reply.

    Attributes:
        error_class: As in `JudgeError`.
        is_transient: Whether the same request may do better a moment later.
        retry_after_s: What the server asked to wait, in seconds; None when it did not say.
        culprit: The setting that is wrong, when the reply tells.
        status: HTTP status, when there was one.
    """

    def __init__(
        self,
        message: str,
        *,
        error_class: CallErrorClass,
        is_transient: bool,
        retry_after_s: float | None = None,
        culprit: Culprit | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.error_class: CallErrorClass = error_class
        self.is_transient = is_transient
        self.retry_after_s = retry_after_s
        self.culprit: Culprit | None = culprit
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meaning:
    error_class: CallErrorClass
    is_transient: bool
    culprit: Culprit | None = None


# First match wins, so a class stands before its parent. tests/judge/test_client.py walks httpx's
# exceptions and fails on one that only the last line would catch.
HTTPX_ERRORS: tuple[tuple[type[Exception], _Meaning], ...] = (
    (httpx.ConnectTimeout, _Meaning(error_class="timeout", is_transient=True, culprit="address")),
    (httpx.TimeoutException, _Meaning(error_class="timeout", is_transient=True)),
    (httpx.ConnectError, _Meaning(error_class="connection", is_transient=True, culprit="address")),
    (httpx.NetworkError, _Meaning(error_class="connection", is_transient=True)),
    (httpx.ProxyError, _Meaning(error_class="connection", is_transient=True, culprit="address")),
    (
        httpx.UnsupportedProtocol,
        _Meaning(error_class="connection", is_transient=False, culprit="address"),
    ),
    (httpx.ProtocolError, _Meaning(error_class="connection", is_transient=True)),
    (httpx.DecodingError, _Meaning(error_class="parse", is_transient=True)),
    (
        httpx.TooManyRedirects,
        _Meaning(error_class="connection", is_transient=False, culprit="address"),
    ),
    (httpx.HTTPStatusError, _Meaning(error_class="http", is_transient=True)),
    (httpx.InvalidURL, _Meaning(error_class="connection", is_transient=False, culprit="address")),
    (httpx.CookieConflict, _Meaning(error_class="internal", is_transient=False)),
    (httpx.StreamError, _Meaning(error_class="internal", is_transient=False)),
)

_TRANSIENT_STATUS = {408, 409, 425, 429}
_CULPRITS: dict[int, Culprit] = {401: "key", 403: "key"}


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")

    content: str | None = None


class _Choice(BaseModel):
    model_config = ConfigDict(extra="ignore")

    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(BaseModel):
    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    choices: list[_Choice]
    usage: _Usage | None = None


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str
    max_model_len: int | None = None


class _Models(BaseModel):
    model_config = ConfigDict(extra="ignore")

    data: list[_Model]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What a model wrote to one prompt."""

    text: str
    model: str | None
    """Model id as the server reports it."""
    is_cut: bool
    """Whether the length limit ended the reply."""
    tokens: int | None
    """Prompt and completion together; None when not reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """One model that a server offers."""

    name: str
    context_tokens: int | None
    """Longest prompt and reply together; None when the server does not say."""


class ChatClient:
    """One server. Open for one event loop; `aclose` gives its connections back."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        connections: int = 8,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Prepare the client; nothing is sent.

        Args:
            url: Base address, with or without `/v1`.
            api_key: Sent as a bearer token; None sends none.
            connections: Size of the pool.
            transport: Instead of the network, for tests.

        Raises:
            JudgeUsageError: The address or the key cannot be sent.
        """
        self.base_url = base_address(url)
        headers = {"Accept": "application/json"}
        if api_key is not None:
            if not api_key.isascii() or not api_key.isprintable() or not api_key.strip():
                raise JudgeUsageError("the judge's API key is empty or has characters no key has")
            headers["Authorization"] = f"Bearer {api_key}"
        host = httpx.URL(self.base_url).host
        self._http = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(None, connect=5.0),
            limits=httpx.Limits(max_connections=connections),
            transport=transport,
            # A proxy variable must not carry the questions of a local judge elsewhere.
            trust_env=host not in _LOOPBACK,
            # Loading the certificates costs a tenth of a second; redirects are not followed.
            verify=self.base_url.startswith("https:"),
        )

    async def complete(self, request: Mapping[str, object]) -> ChatReply:
        """Send one chat completion; how long it may take is the caller's scope.

        Args:
            request: Body of `POST /v1/chat/completions`.

        Raises:
            CallError: No reply, an error status, or a reply that is not a completion.
        """
        body = await self._send("POST", "/chat/completions", request)
        try:
            completion = _Completion.model_validate_json(body)
        except ValidationError as exc:
            raise CallError(
                f"the reply is no chat completion: {_shown(body)}",
                error_class="parse",
                is_transient=True,
            ) from exc
        if not completion.choices or completion.choices[0].message.content is None:
            raise CallError("the reply is empty", error_class="parse", is_transient=True)
        choice = completion.choices[0]
        return ChatReply(
            text=choice.message.content or "",
            model=completion.model,
            is_cut=choice.finish_reason == "length",
            tokens=_total(completion.usage),
        )

    async def models(self) -> tuple[ServedModel, ...]:
        """The models that the server offers.

        Raises:
            CallError: It does not say.
        """
        body = await self._send("GET", "/models", None)
        try:
            listed = _Models.model_validate_json(body)
        except ValidationError as exc:
            raise CallError(
                f"the list of models cannot be read: {_shown(body)}",
                error_class="parse",
                is_transient=True,
            ) from exc
        return tuple(
            ServedModel(name=model.id, context_tokens=model.max_model_len) for model in listed.data
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> ChatClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _send(self, method: str, path: str, request: Mapping[str, object] | None) -> bytes:
        content = None if request is None else json.dumps(request).encode()
        headers = {} if request is None else {"Content-Type": "application/json"}
        try:
            async with self._http.stream(
                method, self.base_url + path, content=content, headers=headers
            ) as response:
                body = await _read(response)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx.CookieConflict) as exc:
            raise _translated(exc, self.base_url) from exc
        if not response.is_success:
            raise _refusal(response, body)
        return body


def base_address(url: str) -> str:
    """The address that paths are added to, ending in `/v1`.

    Raises:
        JudgeUsageError: `url` is not an http or https address.
    """
    try:
        parsed = httpx.URL(url.strip().rstrip("/"))
    except httpx.InvalidURL as exc:
        raise JudgeUsageError(f"judge address {url!r}: {exc}") from exc
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise JudgeUsageError(f"judge address {url!r}: give it as http://HOST:PORT")
    address = str(parsed)
    return address if address.endswith("/v1") else address + "/v1"


async def _read(response: httpx.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > REPLY_LIMIT_BYTES:
            raise CallError(
                f"the reply is longer than {REPLY_LIMIT_BYTES} bytes",
                error_class="parse",
                is_transient=True,
            )
    return bytes(body)


def meaning_of(error: Exception) -> _Meaning:
    """What one of httpx's exceptions means for a question."""
    for kind, meaning in HTTPX_ERRORS:
        if isinstance(error, kind):
            return meaning
    return _Meaning(error_class="connection", is_transient=True)


def _translated(error: Exception, address: str) -> CallError:
    meaning = meaning_of(error)
    return CallError(
        f"{address}: {type(error).__name__}: {_shown(str(error)) or 'no detail'}",
        error_class=meaning.error_class,
        is_transient=meaning.is_transient,
        culprit=meaning.culprit,
    )


def _refusal(response: httpx.Response, body: bytes) -> CallError:
    status = response.status_code
    detail = _shown(body)
    return CallError(
        f"HTTP {status}: {detail}" if detail else f"HTTP {status}",
        error_class="http",
        is_transient=status >= 500 or status in _TRANSIENT_STATUS,
        retry_after_s=retry_after(response.headers.get("Retry-After"), response.headers),
        culprit=_culprit(status, detail.lower()),
        status=status,
    )


def _culprit(status: int, detail: str) -> Culprit | None:
    if status in _CULPRITS:
        return _CULPRITS[status]
    if status == 404:
        return "model" if "model" in detail else "address"
    if status in (400, 413, 422):
        if any(word in detail for word in ("context length", "maximum context", "too long")):
            return "window"
        if any(
            word in detail
            for word in ("response_format", "json_schema", "structured", "guided", "grammar")
        ):
            return "format"
        if "model" in detail and ("not exist" in detail or "not found" in detail):
            return "model"
    if 300 <= status < 400 or status == 405:
        return "address"
    return None


def retry_after(value: str | None, headers: Mapping[str, str]) -> float | None:
    """Seconds that a `Retry-After` asks to wait: a number, or a date against the reply's own date.

    Args:
        value: The header's value.
        headers: The reply's headers; `Date` is the server's clock, which need not be ours.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = email.utils.parsedate_to_datetime(value)
            now = email.utils.parsedate_to_datetime(headers.get("Date", ""))
            seconds = (until - now).total_seconds()
        except (ValueError, TypeError):
            return None
    return max(seconds, 0.0) if seconds < float("inf") else None


def _total(usage: _Usage | None) -> int | None:
    if usage is None or usage.prompt_tokens is None:
        return None
    return usage.prompt_tokens + (usage.completion_tokens or 0)


def _shown(body: bytes | str) -> str:
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    message = _message_in(text)
    line = " ".join((message or text).split())
    return line if len(line) <= _DETAIL_LIMIT else line[:_DETAIL_LIMIT] + "…"


def _message_in(text: str) -> str | None:
    """The message of an error body, `{"error": {"message": …}}` or `{"message": …}`."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    for name in ("error", "message"):
        if isinstance(value, dict):
            value = cast("dict[str, object]", value).get(name, cast("object", value))
    return value if isinstance(value, str) else None
