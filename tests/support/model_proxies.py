"""A model proxy in the test's own event loop, and a client that stands for an agent."""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import anyio
import httpx
from pydantic import SecretStr

from hil_mcp.asgi_serving import serve_app
from hil_mcp.runs.model_proxy import ModelProxy, ModelProxyConfig, model_client
from hil_mcp.runs.model_traffic import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import ASGIApp

    from hil_mcp.runs.model_traffic import Clock, Limit, ModelTraffic, Price

PLACEHOLDER = "hil-mcp-placeholder-1"
REAL_KEY = "sk-the-real-key"


def loopback_listener() -> socket.socket:
    """A bound socket on a free port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{host}:{port}"


@asynccontextmanager
async def serving(app: ASGIApp, *, grace_s: float = 1) -> AsyncGenerator[str]:
    """An app on a free port; gives its address."""
    listener = loopback_listener()
    url = address_of(listener)
    async with anyio.create_task_group() as tasks:
        await tasks.start(partial(serve_app, grace_s=grace_s), app, listener)
        yield url
        tasks.cancel_scope.cancel()


@dataclass(slots=True)
class ProxiedAgent:
    """What a test holds of a proxy."""

    url: str
    proxy: ModelProxy
    http: httpx.AsyncClient
    """Its requests go to the proxy."""
    limits: list[Limit] = field(default_factory=list["Limit"])

    @property
    def seen(self) -> ModelTraffic:
        return self.proxy.observed()


def proxy_config(
    endpoint: str,
    *,
    real_key: str | None = REAL_KEY,
    max_turns: int | None = None,
    max_requests: int | None = None,
    price: Price | None = None,
    max_cost_usd: float | None = None,
    upstream_timeout_s: float = 5,
) -> ModelProxyConfig:
    return ModelProxyConfig(
        endpoint=endpoint,
        real_key=None if real_key is None else SecretStr(real_key),
        placeholder=PLACEHOLDER,
        limits=Limits(
            max_turns=max_turns,
            max_requests=max_requests,
            price=price,
            max_cost_usd=max_cost_usd,
        ),
        upstream_timeout_s=upstream_timeout_s,
    )


@asynccontextmanager
async def proxied(
    config: ModelProxyConfig, *, clock: Clock | None = None
) -> AsyncGenerator[ProxiedAgent]:
    """A proxy on a free port until the block ends."""
    listener = loopback_listener()
    url = address_of(listener)
    limits: list[Limit] = []
    async with (
        model_client(config.endpoint, connections=16) as client,
        httpx.AsyncClient(base_url=url, trust_env=False, verify=False, timeout=5) as http,
        anyio.create_task_group() as tasks,
    ):
        proxy = ModelProxy(config, client, on_limit=limits.append, clock=clock)
        await tasks.start(proxy.serve, listener)
        yield ProxiedAgent(url=url, proxy=proxy, http=http, limits=limits)
        tasks.cancel_scope.cancel()
