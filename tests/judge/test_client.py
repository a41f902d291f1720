"""The HTTP client: every failure has a class, and none is a reply."""

from __future__ import annotations

import inspect

import httpx
import pytest

from judge.client import (
    HTTPX_ERRORS,
    REPLY_LIMIT_BYTES,
    CallError,
    ChatClient,
    base_address,
    retry_after,
)
from judge.errors import JudgeUsageError
from tests.support.endpoints import Endpoint, completion


def _client(endpoint: Endpoint) -> ChatClient:
    return ChatClient("http://judge.test", transport=httpx.MockTransport(endpoint))


def _raisable() -> list[type[Exception]]:
    found = [
        member
        for _, member in inspect.getmembers(httpx, inspect.isclass)
        if issubclass(member, Exception)
    ]
    # Roots of the tree, which httpx never raises themselves.
    return [kind for kind in found if kind not in (httpx.HTTPError, httpx.RequestError)]


def test_every_exception_of_httpx_has_a_meaning() -> None:
    mapped = tuple(kind for kind, _ in HTTPX_ERRORS)

    unmapped = [kind for kind in _raisable() if not issubclass(kind, mapped)]

    assert unmapped == [httpx.TransportError]  # a root too: its children are all mapped
    assert len(_raisable()) > 20


def test_no_exception_is_hidden_by_its_parent() -> None:
    kinds = [kind for kind, _ in HTTPX_ERRORS]

    hidden = [
        (parent, child)
        for place, parent in enumerate(kinds)
        for child in kinds[place + 1 :]
        if issubclass(child, parent)
    ]

    assert hidden == []


@pytest.mark.parametrize(
    ("error", "error_class"),
    [
        (httpx.ConnectError("refused"), "connection"),
        (httpx.ReadError(""), "connection"),
        (httpx.RemoteProtocolError("cut"), "connection"),
        (httpx.ReadTimeout("slow"), "timeout"),
        (httpx.DecodingError("not gzip"), "parse"),
        (httpx.StreamClosed(), "internal"),
        (httpx.TransportError("new in httpx"), "connection"),
    ],
)
async def test_a_failed_request_is_an_error_with_a_class(
    error: Exception, error_class: str
) -> None:
    async with _client(Endpoint([error])) as client:
        with pytest.raises(CallError) as failed:
            await client.complete({})

    assert failed.value.error_class == error_class
    assert "http://judge.test/v1" in str(failed.value)


@pytest.mark.parametrize(
    ("status", "detail", "is_transient", "culprit"),
    [
        (429, "slow down", True, None),
        (500, "oops", True, None),
        (503, "loading", True, None),
        (408, "late", True, None),
        (400, "bad", False, None),
        (401, "no", False, "key"),
        (403, "no", False, "key"),
        (404, "The model `x` does not exist.", False, "model"),
        (404, "no such page", False, "address"),
        (301, "moved", False, "address"),
        (405, "not here", False, "address"),
        (400, "maximum context length is 2048 tokens", False, "window"),
        (400, "response_format is not supported", False, "format"),
        (400, "model not found", False, "model"),
    ],
)
async def test_a_refusal_tells_what_is_wrong(
    status: int, detail: str, is_transient: bool, culprit: str | None
) -> None:
    reply = httpx.Response(status, json={"error": {"message": detail}})
    async with _client(Endpoint([reply])) as client:
        with pytest.raises(CallError) as failed:
            await client.complete({})

    error = failed.value
    assert (error.error_class, error.is_transient, error.culprit) == ("http", is_transient, culprit)
    assert str(error) == f"HTTP {status}: {detail}"


@pytest.mark.parametrize(
    "reply",
    [
        httpx.Response(200, content=b""),
        httpx.Response(200, content=b"<html>gateway</html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"choices": []}),
        httpx.Response(200, json={"choices": [{"message": {}}]}),
        httpx.Response(200, content=b"x" * (REPLY_LIMIT_BYTES + 1)),
        httpx.Response(200, content=b"\xff\xfe"),
    ],
)
async def test_a_reply_that_is_no_completion_is_a_parse_error(reply: httpx.Response) -> None:
    async with _client(Endpoint([reply])) as client:
        with pytest.raises(CallError) as failed:
            await client.complete({})

    assert failed.value.error_class == "parse"
    assert failed.value.is_transient


async def test_a_reply_carries_what_the_server_says_of_itself() -> None:
    async with _client(Endpoint([completion("{}", model="m-1", finish="length")])) as client:
        reply = await client.complete({})

    assert (reply.text, reply.model, reply.is_cut, reply.tokens) == ("{}", "m-1", True, 100)


async def test_a_list_of_models_that_cannot_be_read_is_an_error() -> None:
    async with _client(Endpoint([], models=httpx.Response(200, json={"data": 3}))) as client:
        with pytest.raises(CallError, match="list of models"):
            await client.models()


async def test_the_key_is_sent_as_a_bearer_token_and_only_if_given() -> None:
    endpoint = Endpoint([completion("{}"), completion("{}")])
    transport = httpx.MockTransport(endpoint)
    async with ChatClient("http://judge.test", api_key="s3", transport=transport) as client:
        await client.complete({})
    async with ChatClient("http://judge.test", transport=transport) as client:
        await client.complete({})

    assert [headers.get("Authorization") for headers in endpoint.headers] == ["Bearer s3", None]


@pytest.mark.parametrize("key", ["", "  ", "a\nb", "ключ"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(JudgeUsageError) as refused:
        ChatClient("http://judge.test", api_key=key)

    assert "ключ" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://h:1", "http://h:1/v1"),
        ("http://h:1/", "http://h:1/v1"),
        ("http://h:1/v1/", "http://h:1/v1"),
        ("https://h/api/v1", "https://h/api/v1"),
    ],
)
def test_an_address_may_be_given_with_or_without_v1(url: str, address: str) -> None:
    assert base_address(url) == address


@pytest.mark.parametrize("url", ["", "localhost:8808", "ftp://h", "http://", "http://[::1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(JudgeUsageError, match="judge address"):
        base_address(url)


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        ("7", "", 7.0),
        ("0.5", "", 0.5),
        ("-3", "", 0.0),
        ("Mon, 30 Nov 2026 08:00:09 GMT", "Mon, 30 Nov 2026 08:00:00 GMT", 9.0),
        ("Mon, 30 Nov 2026 08:00:09 GMT", "", None),
        ("soon", "", None),
        ("inf", "", None),
        ("nan", "", None),
        (None, "", None),
    ],
)
def test_retry_after_is_read_as_seconds(
    value: str | None, date: str, seconds: float | None
) -> None:
    assert retry_after(value, {"Date": date}) == seconds
