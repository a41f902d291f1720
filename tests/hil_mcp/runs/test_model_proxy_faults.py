"""The model proxy when the endpoint fails, the agent leaves or lies, or a limit is reached."""

from __future__ import annotations

import json
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from hil_mcp.runs.model_answer import TokenCount
from hil_mcp.runs.model_proxy import explain
from hil_mcp.runs.model_traffic import Limit, Price
from tests.support.model_proxies import (
    PLACEHOLDER,
    REAL_KEY,
    ProxiedAgent,
    proxied,
    proxy_config,
    serving,
)
from tests.support.ports import free_port
from tests.support.scripted_model import Fault, Usage, after_faults, model_endpoint, play
from tests.support.upstreams import Upstream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from anyio.abc import SocketStream

_KEY = {"x-api-key": PLACEHOLDER}
_BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "tools": [{"name": "ask_human"}],
}
_TITLE = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
_EVENTS = [("content-type", "text/event-stream")]


async def _ask(agent: ProxiedAgent, *, key: str = PLACEHOLDER, title: bool = False) -> int:
    body = _TITLE if title else _BODY
    answer = await agent.http.post("/v1/messages", json=body, headers={"x-api-key": key})
    return answer.status_code


@asynccontextmanager
async def _raw_server(handle: Callable[[SocketStream], Awaitable[None]]) -> AsyncGenerator[str]:
    """A server below HTTP: gets the stream once a request's head is there."""

    async def after_request(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await handle(stream)

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, after_request)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.cancel_scope.cancel()


async def _reset(stream: SocketStream) -> None:
    raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _cut_in_the_middle(stream: SocketStream) -> None:
    await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")


async def _no_http(stream: SocketStream) -> None:
    await stream.send(b"SSH-2.0-OpenSSH_9.2\r\n")


async def test_an_endpoint_that_cannot_be_reached_is_a_502_and_recorded() -> None:
    async with proxied(proxy_config(f"http://127.0.0.1:{free_port()}")) as agent:
        answer = await agent.http.post("/v1/messages", json=_BODY, headers=_KEY)

    assert answer.status_code == 502
    assert "ConnectError" in answer.json()["error"]["message"]
    failure = agent.seen.last_failure
    assert failure is not None
    assert (failure.status, failure.offered_tools) == (None, True)
    assert "ConnectError" in failure.message


@pytest.mark.parametrize("handle", [_reset, _no_http])
async def test_a_connection_that_breaks_before_an_answer_is_a_502_and_recorded(
    handle: Callable[[SocketStream], Awaitable[None]],
) -> None:
    async with _raw_server(handle) as url, proxied(proxy_config(url)) as agent:
        status = await _ask(agent)

    assert status == 502
    assert agent.seen.last_failure is not None
    assert agent.seen.n_turns == 0


async def test_an_answer_that_breaks_off_breaks_off_for_the_agent_too() -> None:
    async with _raw_server(_cut_in_the_middle) as url, proxied(proxy_config(url)) as agent:
        with pytest.raises(httpx.RemoteProtocolError):
            await _ask(agent)

    failure = agent.seen.last_failure
    assert failure is not None
    assert "in the middle of an answer" in failure.message


async def test_an_endpoint_that_stays_silent_is_a_504_and_recorded() -> None:
    never = anyio.Event()

    async with (
        serving(Upstream(before=never), grace_s=0) as url,
        proxied(proxy_config(url, upstream_timeout_s=1.0)) as agent,
    ):
        status = await _ask(agent)

    assert status == 504
    assert agent.seen.last_failure is not None
    assert "ReadTimeout" in agent.seen.last_failure.message
    assert agent.seen.in_flight_since is None


async def test_an_agent_that_leaves_ends_its_request_at_the_endpoint() -> None:
    upstream = Upstream(before=anyio.Event())

    with anyio.fail_after(5):
        async with (
            serving(upstream, grace_s=0) as url,
            proxied(proxy_config(url)) as agent,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_ask, agent)
            await upstream.came.wait()
            assert agent.seen.in_flight_since is not None
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await upstream.left.wait()

    assert agent.seen.in_flight_since is None
    assert agent.seen.last_failure is None


async def test_what_an_agent_got_of_an_answer_before_it_left_is_counted() -> None:
    start = b'data: {"type": "message_start", "message": {"usage": {"input_tokens": 9}}}\n\n'
    upstream = Upstream([start, b"data: never\n\n"], headers=_EVENTS, gate=anyio.Event())

    with anyio.fail_after(5):
        async with serving(upstream, grace_s=0) as url, proxied(proxy_config(url)) as agent:
            async with agent.http.stream("POST", "/v1/messages", json=_BODY) as answer:
                async for _ in answer.aiter_raw():
                    break
            await upstream.left.wait()
            await anyio.wait_all_tasks_blocked()

    assert agent.seen.tokens == TokenCount(input_tokens=9)


async def test_ending_the_proxy_ends_what_it_waits_for() -> None:
    upstream = Upstream(before=anyio.Event())

    with anyio.fail_after(5):
        async with serving(upstream, grace_s=0) as url, anyio.create_task_group() as tasks:
            async with proxied(proxy_config(url)) as agent:
                tasks.start_soon(_expect_broken, agent)
                await upstream.came.wait()
            await upstream.left.wait()


async def _expect_broken(agent: ProxiedAgent) -> None:
    with pytest.raises(httpx.TransportError):
        await _ask(agent)


@pytest.mark.parametrize("status", [401, 429, 500, 529])
async def test_an_endpoint_s_error_passes_and_is_recorded_until_a_later_success(
    status: int,
) -> None:
    faults = after_faults(Fault(status=status), then=play())

    with model_endpoint(faults) as model:
        async with proxied(proxy_config(model.url)) as agent:
            first = await _ask(agent)
            failed = agent.seen
            second = await _ask(agent)

    assert (first, second) == (status, 200)
    assert failed.last_failure is not None
    assert failed.last_failure.status == status
    assert agent.seen.last_failure is None
    assert (agent.seen.n_requests, agent.seen.n_turns) == (2, 1)


async def test_a_title_that_was_got_does_not_clear_the_failure_of_the_work() -> None:
    with model_endpoint(play(then=Fault(status=429))) as model:
        async with proxied(proxy_config(model.url)) as agent:
            await _ask(agent)
            assert await _ask(agent, title=True) == 200

    assert agent.seen.last_failure is not None


@pytest.mark.parametrize("real_key", [REAL_KEY, None])
async def test_an_agent_cannot_fake_a_failure_with_a_key_of_its_own(real_key: str | None) -> None:
    with model_endpoint(play()) as model:
        model.only_key = real_key or PLACEHOLDER
        async with proxied(proxy_config(model.url, real_key=real_key)) as agent:
            assert await _ask(agent) == 200
            assert await _ask(agent, key="garbage") == 401

    assert agent.seen.last_failure is None
    assert agent.seen.n_turns == 1


async def test_without_a_real_key_the_refused_login_of_the_user_is_recorded() -> None:
    with model_endpoint(play(then=Fault(status=401))) as model:
        async with proxied(proxy_config(model.url, real_key=None)) as agent:
            await _ask(agent)

    assert agent.seen.last_failure is not None


async def test_a_request_that_the_endpoint_finds_wrong_is_its_failure_only_before_any_success() -> (
    None
):
    wrong = Fault(status=400, message="no such model")
    asked_before = after_faults(wrong, then=play())
    asked_after = play(then=wrong)

    with model_endpoint(asked_before) as model:
        async with proxied(proxy_config(model.url)) as agent:
            await _ask(agent)
            unusable = agent.seen.last_failure
            await _ask(agent)
            model.behaviour = asked_after
            assert await _ask(agent) == 400

    assert unusable is not None
    assert agent.seen.last_failure is None


async def test_an_error_inside_an_answer_that_began_well_is_recorded() -> None:
    told = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    upstream = Upstream([f"event: error\ndata: {json.dumps(told)}\n\n".encode()], headers=_EVENTS)

    async with serving(upstream) as url, proxied(proxy_config(url)) as agent:
        assert await _ask(agent) == 200

    assert agent.seen.last_failure is not None
    assert "overloaded_error" in agent.seen.last_failure.message


async def test_an_endpoint_that_repeats_the_key_does_not_give_it_away() -> None:
    told = f'{{"error": "Incorrect API key provided: {REAL_KEY}"}}'.encode()
    headers = [("content-length", str(len(told))), ("x-key", REAL_KEY)]
    upstream = Upstream([told], status=401, headers=headers)

    async with serving(upstream) as url, proxied(proxy_config(url)) as agent:
        answer = await agent.http.post("/v1/messages", json=_BODY, headers=_KEY)

    assert (answer.status_code, answer.content) == (
        401,
        told.replace(REAL_KEY.encode(), PLACEHOLDER.encode()),
    )
    assert REAL_KEY not in str(answer.headers)


async def test_after_the_last_turn_nothing_goes_out_and_nothing_is_answered() -> None:
    with model_endpoint(play()) as model:
        async with proxied(proxy_config(model.url, max_turns=2)) as agent:
            assert [await _ask(agent), await _ask(agent)] == [200, 200]
            assert agent.limits == []
            for _ in range(2):
                with pytest.raises(httpx.ReadTimeout):
                    await agent.http.post(
                        "/v1/messages",
                        json=_BODY,
                        headers=_KEY,
                        timeout=httpx.Timeout(5, read=0.05),
                    )

    assert agent.limits == [Limit.TURNS]
    assert (agent.seen.limit, agent.seen.n_turns) == (Limit.TURNS, 2)
    assert agent.seen.in_flight_since is None
    assert len(model.requests) == 2


async def test_failed_requests_are_no_turns_and_titles_are_none() -> None:
    with model_endpoint(after_faults(Fault(), Fault(), then=play())) as model:
        async with proxied(proxy_config(model.url, max_turns=1)) as agent:
            statuses = [await _ask(agent) for _ in range(3)]
            statuses += [await _ask(agent, title=True) for _ in range(3)]

    assert statuses == [500, 500, 200, 200, 200, 200]
    assert agent.limits == []


async def test_requests_of_any_kind_are_limited() -> None:
    async with (
        serving(Upstream()) as url,
        proxied(proxy_config(url, max_requests=2)) as agent,
    ):
        for _ in range(2):
            await agent.http.get("/v1/models")
        with pytest.raises(httpx.ReadTimeout):
            await agent.http.get("/v1/models", timeout=httpx.Timeout(5, read=0.05))

    assert agent.limits == [Limit.REQUESTS]


async def test_money_is_limited_by_the_price_of_the_tokens() -> None:
    price = Price(input_usd=1.0, output_usd=10.0)
    usage = Usage(input_tokens=1_000_000, output_tokens=200_000)

    with model_endpoint(play(), usage=usage) as model:
        config = proxy_config(model.url, price=price, max_cost_usd=5.0)
        async with proxied(config) as agent:
            await _ask(agent)
            first = (agent.seen.cost_usd, list(agent.limits))
            await _ask(agent)

    assert first == (3.0, [])
    assert (agent.seen.cost_usd, agent.limits) == (6.0, [Limit.COST])


def test_input_from_a_cache_has_its_own_price_where_one_is_given() -> None:
    tokens = TokenCount(input_tokens=1_000_000, cached_tokens=900_000, output_tokens=0)

    assert Price(input_usd=10, output_usd=0).of(tokens) == pytest.approx(10)
    assert Price(input_usd=10, output_usd=0, cached_input_usd=1).of(tokens) == pytest.approx(1.9)


def _subclasses(kind: type[httpx.RequestError]) -> list[type[httpx.RequestError]]:
    return [kind, *(each for child in kind.__subclasses__() for each in _subclasses(child))]


@pytest.mark.parametrize("kind", _subclasses(httpx.RequestError), ids=lambda kind: kind.__name__)
def test_every_error_of_the_http_library_has_a_status_and_its_name(
    kind: type[httpx.RequestError],
) -> None:
    silent = (httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout, httpx.TimeoutException)

    told = explain(kind("why"))

    assert told.status == (504 if kind in silent else 502)
    assert kind.__name__ in told.message
