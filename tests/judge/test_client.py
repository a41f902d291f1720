"""The HTTP client: every failure has a class, and none is a reply."""

from __future__ import annotations

import inspect
import json

import httpx
import pytest

from judge.call_error import CallError
from judge.client import HTTPX_ERRORS, REPLY_LIMIT_BYTES, ChatClient
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
    "reply",
    [
        httpx.Response(200, content=b""),
        httpx.Response(200, content=b"<html>gateway</html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"choices": []}),
        httpx.Response(200, json={"choices": [{"message": {}}]}),
        httpx.Response(200, content=b"x" * (REPLY_LIMIT_BYTES + 1)),
        httpx.Response(200, content=b"\xff\xfe"),
        httpx.Response(200, content=b"[" * 100_000),
        completion(""),
        completion(None),
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


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "{"}, {"type": "text", "text": "}"}], "{}"),
        ([{"type": "image", "text": "x"}, None, {"type": "text", "text": "{}"}], "{}"),
        ("half \ud800", "half ?"),
    ],
)
async def test_content_in_parts_or_with_half_a_character_is_read(
    content: object, text: str
) -> None:
    body = json.dumps({"model": 3, "choices": [{"message": {"content": content}}], "usage": []})
    reply = httpx.Response(200, content=b"\xef\xbb\xbf" + body.encode())
    async with _client(Endpoint([reply])) as client:
        read = await client.complete({})

    assert (read.text, read.model, read.is_cut, read.tokens) == (text, None, False, None)


async def test_a_models_name_that_would_act_on_a_terminal_is_spelled_out() -> None:
    async with _client(Endpoint([completion("{}", model="m\x1b[31m\n" + "x" * 999)])) as client:
        reply = await client.complete({})

    assert reply.model == "m\\x1b[31m " + "x" * 290 + "…"


async def test_a_connection_that_breaks_off_under_tls_may_do_better_a_moment_later() -> None:
    broken = httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred")
    async with _client(Endpoint([broken])) as client:
        with pytest.raises(CallError) as failed:
            await client.complete({})

    assert failed.value.is_transient


@pytest.mark.parametrize("text", [None, ""])
async def test_an_empty_reply_that_used_up_its_room_is_a_cut_one(text: str | None) -> None:
    async with _client(Endpoint([completion(text, finish="length")])) as client:
        reply = await client.complete({})

    assert (reply.text, reply.is_cut) == ("", True)


async def test_a_page_in_place_of_a_completion_is_a_wrong_address() -> None:
    page = httpx.Response(200, content=b"<!doctype html><p>Welcome</p>")
    async with _client(Endpoint([page])) as client:
        with pytest.raises(CallError, match=r"no chat completion: an HTML page$") as failed:
            await client.complete({})

    assert failed.value.culprit == "address"


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
