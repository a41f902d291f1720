"""Apps on bound sockets: many in one loop, signals left alone, nothing left open."""

from __future__ import annotations

import signal
import socket
from functools import partial
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest

from hil_mcp.asgi_serving import serve_app
from tests.support.model_proxies import address_of, loopback_listener
from tests.support.upstreams import Upstream

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def test_many_apps_are_served_side_by_side_and_signals_stay_the_caller_s() -> None:
    before = [signal.getsignal(each) for each in _SIGNALS]
    listeners = [loopback_listener() for _ in range(20)]

    async with anyio.create_task_group() as tasks, httpx.AsyncClient(verify=False) as http:
        for number, listener in enumerate(listeners):
            await tasks.start(serve_app, Upstream([str(number).encode()]), listener)
        answers = [(await http.get(address_of(listener))).text for listener in listeners]

        assert answers == [str(number) for number in range(20)]
        assert [signal.getsignal(each) for each in _SIGNALS] == before
        tasks.cancel_scope.cancel()

    assert all(listener.fileno() == -1 for listener in listeners)


async def test_events_of_a_stream_do_not_wait_for_each_other_s_acknowledgement() -> None:
    listener = loopback_listener()

    async with anyio.create_task_group() as tasks:
        await tasks.start(serve_app, Upstream(), listener)
        # Connections take it over from the listener.
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        tasks.cancel_scope.cancel()


async def test_an_app_is_served_on_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "s"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    transport = httpx.AsyncHTTPTransport(uds=str(path), verify=False)

    async with anyio.create_task_group() as tasks, httpx.AsyncClient(transport=transport) as http:
        await tasks.start(serve_app, Upstream([b"here"]), listener)
        assert (await http.get("http://x/")).text == "here"
        tasks.cancel_scope.cancel()


async def test_a_call_in_progress_has_its_grace_to_end() -> None:
    upstream = Upstream([b"first ", b"second"], gate=anyio.Event())
    listener = loopback_listener()
    got: list[str] = []

    async def ask() -> None:
        async with httpx.AsyncClient(verify=False) as http:
            got.append((await http.get(address_of(listener))).text)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as clients, anyio.create_task_group() as tasks:
            await tasks.start(serve_app, upstream, listener)
            clients.start_soon(ask)
            await upstream.came.wait()
            tasks.cancel_scope.cancel()
            assert upstream.gate is not None
            upstream.gate.set()

    assert got == ["first second"]


async def test_a_call_that_outlives_its_grace_is_ended() -> None:
    ended: list[str] = []
    came = anyio.Event()

    async def stubborn(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        came.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("ended")

    async def ask() -> None:
        async with httpx.AsyncClient(verify=False) as http:
            with pytest.raises(httpx.TransportError):
                await http.get(address_of(listener))

    listener = loopback_listener()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as clients, anyio.create_task_group() as tasks:
            await tasks.start(partial(serve_app, grace_s=0.01), stubborn, listener)
            clients.start_soon(ask)
            await came.wait()
            tasks.cancel_scope.cancel()

    assert ended == ["ended"]


async def test_a_socket_that_cannot_be_served_is_an_error_and_not_a_wait() -> None:
    listener = loopback_listener()
    listener.close()

    with anyio.fail_after(5), pytest.raises(OSError, match="Bad file descriptor"):
        await serve_app(Upstream(), listener)
