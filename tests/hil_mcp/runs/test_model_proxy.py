"""The model proxy between a client and a model: what passes, what is changed, what is seen."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from hil_mcp.errors import ConfigError
from hil_mcp.runs.model_answer import TokenCount
from hil_mcp.runs.model_proxy import ModelProxy, ModelProxyConfig
from hil_mcp.runs.model_traffic import Clock
from tests.support.model_proxies import PLACEHOLDER, REAL_KEY, proxied, proxy_config, serving
from tests.support.scripted_model import Usage, model_endpoint, play
from tests.support.upstreams import Upstream

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOOL = {"name": "ask_human", "description": "asks", "input_schema": {"type": "object"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """How one API family asks."""

    path: str
    body: Mapping[str, object]
    key: tuple[str, str]
    tools: tuple[str, ...]
    model: str = "the-model"


_USER = {"role": "user", "content": "Which year?"}
_FUNCTION = {"type": "function", "name": "ask_human"}
_BEARER = ("authorization", f"Bearer {PLACEHOLDER}")
FAMILIES = {
    "anthropic": _Family(
        path="/v1/messages?beta=true",
        body={"model": "the-model", "messages": [_USER], "tools": [_TOOL]},
        key=("x-api-key", PLACEHOLDER),
        tools=("ask_human",),
    ),
    "responses": _Family(
        path="/v1/responses",
        body={
            "model": "the-model",
            "input": [{"type": "message", **_USER}],
            "tools": [
                {"type": "namespace", "name": "mcp__hil", "tools": [_FUNCTION]},
                {"type": "web_search"},
            ],
        },
        key=_BEARER,
        tools=("mcp__hil__ask_human", "web_search"),
    ),
    "chat": _Family(
        path="/v1/chat/completions",
        body={
            "model": "the-model",
            "messages": [_USER],
            "tools": [{"type": "function", "function": {"name": "ask_human"}}],
        },
        key=_BEARER,
        tools=("ask_human",),
    ),
    "gemini": _Family(
        path="/v1beta/models/the-model:generateContent",
        body={
            "contents": [{"role": "user", "parts": [{"text": "Which year?"}]}],
            "tools": [{"functionDeclarations": [{"name": "ask_human"}]}],
        },
        key=("x-goog-api-key", PLACEHOLDER),
        tools=("ask_human",),
    ),
    "gemini, key in the query": _Family(
        path=f"/v1beta/models/the-model:generateContent?key={PLACEHOLDER}",
        body={
            "contents": [{"role": "user", "parts": [{"text": "Which year?"}]}],
            "tools": [{"function_declarations": [{"name": "ask_human"}]}],
        },
        key=("x-unrelated", "1"),
        tools=("ask_human",),
    ),
}
EACH_FAMILY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


def _streamed(family: _Family) -> tuple[str, Mapping[str, object]]:
    if "generateContent" in family.path:
        return family.path.replace(":generateContent", ":streamGenerateContent"), family.body
    return family.path, {**family.body, "stream": True}


@EACH_FAMILY
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_an_answer_passes_unchanged_and_its_tools_and_tokens_are_seen(
    family: _Family, streamed: bool
) -> None:
    path, body = _streamed(family) if streamed else (family.path, family.body)
    usage = Usage(input_tokens=1234, output_tokens=56)
    with model_endpoint(play(), usage=usage) as model:
        async with proxied(proxy_config(model.url)) as agent:
            direct = await agent.http.post(model.url + path, json=body)
            answer = await agent.http.post(path, json=body, headers=dict([family.key]))

    assert (answer.status_code, answer.content) == (direct.status_code, direct.content)
    assert answer.headers["content-type"] == direct.headers["content-type"]
    seen = agent.seen
    assert seen.first_tools is not None
    assert seen.first_tools.names == family.tools
    assert seen.first_tools.offers("ask_human")
    assert seen.models == (family.model,)
    assert seen.tokens == TokenCount(input_tokens=1234, output_tokens=56)
    assert (seen.n_requests, seen.n_turns, seen.n_unread, seen.n_without_tokens) == (1, 1, 0, 0)
    assert (seen.last_failure, seen.in_flight_since, seen.limit) == (None, None, None)


@EACH_FAMILY
async def test_the_endpoint_gets_the_real_key_and_the_body_to_the_byte(family: _Family) -> None:
    body = json.dumps(family.body, indent=1).encode()
    upstream = Upstream()

    async with serving(upstream) as url, proxied(proxy_config(url)) as agent:
        await agent.http.post(family.path, content=body, headers=dict([family.key]))

    (arrived,) = upstream.arrived
    assert arrived.body == body
    assert arrived.path == family.path.replace(PLACEHOLDER, REAL_KEY)
    assert arrived.header(family.key[0]) == family.key[1].replace(PLACEHOLDER, REAL_KEY)
    assert PLACEHOLDER not in str(arrived.headers)


async def test_without_a_real_key_headers_pass_as_they_are() -> None:
    upstream = Upstream()

    async with (
        serving(upstream) as url,
        proxied(proxy_config(url, real_key=None)) as agent,
    ):
        await agent.http.post("/v1/messages", headers={"authorization": f"Bearer {PLACEHOLDER}"})

    assert upstream.arrived[0].header("authorization") == f"Bearer {PLACEHOLDER}"


async def test_headers_of_one_connection_stay_there_and_all_others_pass() -> None:
    upstream = Upstream(
        headers=[
            ("content-type", "text/plain"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("x-request-id", "r1"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
        ]
    )
    sent = {"connection": "keep-alive, x-mine", "x-mine": "1", "te": "trailers", "anthropic": "2"}

    async with serving(upstream) as url, proxied(proxy_config(url)) as agent:
        answer = await agent.http.get("/v1/models", headers=sent)
        assert await _raw_get(agent.url, "/v1/models") == 200

    first, second = upstream.arrived
    assert (first.header("anthropic"), first.header("x-mine"), first.header("te")) == (
        "2",
        None,
        None,
    )
    assert first.header("accept-encoding") == "identity"
    assert f"http://{first.header('host')}" == url
    assert answer.headers["x-request-id"] == "r1"
    assert "x-hop" not in answer.headers
    assert answer.headers.get_list("set-cookie") == ["a=1", "b=2"]
    # The pool serves all attempts: nothing of one may come back in another.
    assert second.header("cookie") is None


async def test_a_compressed_answer_passes_as_it_is() -> None:
    packed = gzip.compress(b'{"usage": {"input_tokens": 1}}')
    headers = [("content-type", "application/json"), ("content-encoding", "gzip")]

    async with (
        serving(Upstream([packed], headers=headers)) as url,
        proxied(proxy_config(url)) as agent,
        agent.http.stream("POST", "/v1/messages", json=FAMILIES["anthropic"].body) as answer,
    ):
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])

    assert (raw, answer.headers["content-encoding"]) == (packed, "gzip")
    assert (agent.seen.tokens, agent.seen.n_without_tokens) == (None, 1)


async def test_the_first_chunk_arrives_before_the_model_has_finished() -> None:
    gate = anyio.Event()
    events = [b'data: {"type": "message_start"}\n\n', b"data: [DONE]\n\n"]
    upstream = Upstream(events, headers=[("content-type", "text/event-stream")], gate=gate)
    got: list[bytes] = []

    with anyio.fail_after(5):
        async with (
            serving(upstream) as url,
            proxied(proxy_config(url)) as agent,
            agent.http.stream("POST", "/v1/messages", json={}) as answer,
        ):
            async for chunk in answer.aiter_raw():
                got.append(chunk)
                gate.set()

    assert got == events


async def test_large_bodies_pass_both_ways() -> None:
    filler = "x" * 5_000_000
    body = {**FAMILIES["anthropic"].body, "system": filler}
    reply = json.dumps({"content": filler, "usage": {"input_tokens": 7, "output_tokens": 3}})
    upstream = Upstream([reply.encode()])

    async with serving(upstream) as url, proxied(proxy_config(url)) as agent:
        answer = await agent.http.post("/v1/messages", json=body)

    assert json.loads(upstream.arrived[0].body) == body
    assert answer.text == reply
    assert agent.seen.tokens == TokenCount(input_tokens=7, output_tokens=3)
    assert agent.seen.first_tools is not None


@pytest.mark.parametrize("body", [b"", b"\x00\xff", b'{"tools": 3}', b'{"model": "m", "tools'])
async def test_a_body_that_cannot_be_read_is_passed_on_all_the_same(body: bytes) -> None:
    upstream = Upstream()

    async with serving(upstream) as url, proxied(proxy_config(url)) as agent:
        answer = await agent.http.post("/v1/messages", content=body)

    assert (answer.status_code, upstream.arrived[0].body) == (200, body)
    assert (agent.seen.n_unread, agent.seen.n_turns, agent.seen.first_tools) == (1, 0, None)


async def test_half_a_surrogate_pair_hides_no_tools() -> None:
    body = b'{"model": "m", "messages": ["\\ud83d"], "tools": [{"name": "ask_human"}]}'

    async with serving(Upstream()) as url, proxied(proxy_config(url)) as agent:
        await agent.http.post("/v1/messages", content=body)

    assert agent.seen.first_tools is not None
    assert agent.seen.first_tools.names == ("ask_human",)


async def test_asides_are_no_turns_and_the_first_tools_keep_their_time() -> None:
    ticks = iter(range(1000))
    clock = Clock(
        monotonic=lambda: float(next(ticks)), now=lambda: datetime(2026, 1, 2, tzinfo=UTC)
    )
    key = {"x-api-key": PLACEHOLDER}
    first = {**FAMILIES["anthropic"].body, "tools": [{"name": "mcp__hil__ask_human"}]}
    with model_endpoint(play()) as model:
        async with proxied(proxy_config(model.url), clock=clock) as agent:
            title = {"model": "small", "messages": [_USER]}
            await agent.http.post("/v1/messages", json=title, headers=key)
            count = {"model": "m", "messages": [_USER], "tools": [_TOOL]}
            await agent.http.post("/v1/messages/count_tokens", json=count, headers=key)
            before = agent.seen
            await agent.http.post("/v1/messages", json=first, headers=key)
            await agent.http.post("/v1/messages", json=FAMILIES["anthropic"].body, headers=key)

    assert (before.n_requests, before.n_turns, before.first_tools) == (2, 0, None)
    seen = agent.seen
    assert (seen.n_requests, seen.n_turns) == (4, 2)
    assert seen.first_tools is not None
    assert seen.first_tools.names == ("mcp__hil__ask_human",)
    assert seen.first_tools.at == datetime(2026, 1, 2, tzinfo=UTC)
    assert before.last_activity is not None
    assert before.last_activity < seen.first_tools.monotonic_s


async def test_requests_stay_below_the_path_of_the_endpoint() -> None:
    upstream = Upstream()
    paths = (
        *("/../v1/models", "/v1/../../x", "/%2e%2e/x", "/v1/%2E%2e/x", "/..%2fx", "/..\\x"),
        *("/./x", "//other.test/v1/models", "/v1/models?u=http://other.test/../"),
    )

    async with (
        serving(upstream) as url,
        proxied(proxy_config(url + "/base/")) as agent,
    ):
        statuses = [await _raw_get(agent.url, path) for path in paths]
        whole = await _raw_get(agent.url, "http://other.test/v1/models")

    assert statuses == [400] * 7 + [200, 200]
    assert whole == 400
    assert [each.path for each in upstream.arrived] == [
        "/base//other.test/v1/models",
        "/base/v1/models?u=http://other.test/../",
    ]


async def _raw_get(url: str, target: str) -> int:
    """The status of a GET whose target no client would send."""
    host, port = url.removeprefix("http://").split(":")
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return int((await stream.receive()).split(b" ", 2)[1])


@pytest.mark.parametrize(
    "endpoint",
    ["", "127.0.0.1:1", "ftp://x", "https://", "https://u:p@x", "https://x?q=1", "http://x:99999"],
)
async def test_an_endpoint_that_is_no_address_is_refused(endpoint: str) -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(ConfigError, match="model endpoint"):
            ModelProxy(proxy_config(endpoint), client, on_limit=lambda _: None)


async def test_a_key_that_cannot_be_sent_is_refused_without_being_shown() -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(ConfigError, match="API key") as refused:
            ModelProxy(
                proxy_config("http://x", real_key="secret\r\nx: y"), client, on_limit=lambda _: None
            )

    assert "secret" not in str(refused.value)


def test_the_configuration_does_not_show_the_key() -> None:
    config: ModelProxyConfig = proxy_config("http://x")

    assert REAL_KEY not in repr(config)
