"""A pass-through between one agent and its model: forwards to one endpoint, and watches.

The agent gets the proxy's address and a placeholder for the key; the real key never reaches it.
What passes is not changed but for that key and the headers of a single connection. One connection
pool serves all proxies of a run; this module is the owner of HTTP to the models.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import anyio
import httpx

from hil_mcp.asgi_serving import serve_app
from hil_mcp.runs.model_address import EndpointAddress, KeyExchange
from hil_mcp.runs.model_answer import AnswerScan
from hil_mcp.runs.model_request import read_request
from hil_mcp.runs.model_traffic import Limits, TrafficMeter

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable

    from anyio.abc import TaskStatus
    from pydantic import SecretStr
    from starlette.types import Receive, Scope, Send

    from hil_mcp.runs.model_address import Headers
    from hil_mcp.runs.model_traffic import Clock, Exchange, Limit, ModelTraffic

_CONNECT_LIMIT_S = 30.0
_BODY_LIMIT_BYTES = 256_000_000
# Of one connection, not of the request (RFC 9110, 7.6.1); `expect` is answered here.
_HOP_HEADERS = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate"),
        *(b"proxy-authorization", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    }
)
_OWN_REQUEST_HEADERS = frozenset({b"host", b"content-length", b"accept-encoding", b"expect"})
_DETAIL_LIMIT = 300
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProxyConfig:
    """One agent's way to its model."""

    endpoint: str
    """`https://HOST[:PORT][/PATH]`, without the API's own path."""
    real_key: SecretStr | None
    """None where the agent brings a login of the user's; headers then pass as they are."""
    placeholder: str
    """What the agent has in the key's place."""
    limits: Limits
    upstream_timeout_s: float
    """Longest wait for the endpoint's next byte, in seconds."""


ModelClient: TypeAlias = httpx.AsyncClient
"""A pool of connections to one endpoint."""


def model_client(endpoint: str, *, connections: int) -> ModelClient:
    """The pool of connections for all proxies of a run; the caller closes it.

    Args:
        endpoint: As in `ModelProxyConfig`.
        connections: Most that are open at once. An answer holds one until its end.
    """
    return httpx.AsyncClient(
        # Loading the certificates costs a tenth of a second.
        verify=endpoint.startswith("https:"),
        trust_env=httpx.URL(endpoint).host not in _LOOPBACK,
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
    )


class ModelProxy:
    """One agent's proxy. A new one for each attempt; `serve` once."""

    def __init__(
        self,
        config: ModelProxyConfig,
        client: httpx.AsyncClient,
        *,
        on_limit: Callable[[Limit], None],
        clock: Clock | None = None,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            config: Where to forward to, and how much.
            client: From `model_client`; stays the caller's.
            on_limit: Called once, when the agent reaches a limit. Nothing goes out after that, and
                nothing is answered, since an error would only be tried again: end the agent.
            clock: Where the time comes from.

        Raises:
            ConfigError: The endpoint or the key cannot be used.
        """
        self._address = EndpointAddress.parse(config.endpoint)
        self._keys = KeyExchange(real_key=config.real_key, placeholder=config.placeholder)
        self._client = client
        self._meter = TrafficMeter(config.limits, on_limit=on_limit, clock=clock)
        wait_s = config.upstream_timeout_s
        timeout = httpx.Timeout(wait_s, connect=min(wait_s, _CONNECT_LIMIT_S))
        self._extensions = {"timeout": timeout.as_dict()}

    async def serve(
        self,
        listener: socket.socket,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve on a bound TCP or Unix socket until cancelled, and leave nothing open.

        Args:
            listener: Closed at the end.
            task_status: Told once connections are accepted.
        """
        await serve_app(self._handle, listener, grace_s=0, task_status=task_status)

    def observed(self) -> ModelTraffic:
        """All that was seen up to now."""
        return self._meter.observed()

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # lifespan
            return
        body = await _read_body(receive)
        if body is None:
            await _refuse(send, 413, "the request is too large")
            return
        is_post = scope["method"] == "POST"
        exchange = self._meter.arrived(
            credential=self._keys.credential(scope["headers"], scope["query_string"]),
            asked=read_request(scope["path"], body) if is_post else None,
        )
        request = self._outgoing(scope, body)
        if request is None:
            await _refuse(send, 400, "no path of the model's endpoint")
            return
        if not self._meter.admit(exchange):
            await _until_gone(receive)
            return
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_cancel_when_gone, receive, tasks.cancel_scope)
                await self._relay(exchange, request, send)
                tasks.cancel_scope.cancel()
        finally:
            self._meter.left(exchange)

    def _outgoing(self, scope: Scope, body: bytes) -> httpx.Request | None:
        """The request as it goes on; None where its path would leave the endpoint's."""
        query = self._keys.outward_query(scope["query_string"])
        target = self._address.target(scope["raw_path"], query)
        if target is None:
            return None
        kept = [
            pair for pair in _end_to_end(scope["headers"]) if pair[0] not in _OWN_REQUEST_HEADERS
        ]
        headers = [
            (b"host", self._address.host),
            *self._keys.outward(kept),
            # A compressed answer could not be read as it passes.
            (b"accept-encoding", b"identity"),
        ]
        try:
            url = httpx.URL(self._address.origin).copy_with(raw_path=target)
        except httpx.InvalidURL:
            return None
        return httpx.Request(
            scope["method"], url, headers=headers, content=body, extensions=self._extensions
        )

    async def _relay(self, exchange: Exchange, request: httpx.Request, send: Send) -> None:
        try:
            response = await self._client.send(request, stream=True)
        except httpx.LocalProtocolError:
            # The agent's doing. The error's own text may hold the key's header.
            await _refuse(send, 400, "a request that HTTP does not allow")
            return
        except httpx.RequestError as exc:
            told = explain(exc)
            self._meter.failed(exchange, told.message)
            await _refuse(send, told.status, told.message)
            return
        try:
            self._meter.answered(exchange, response.status_code)
            if response.status_code >= 400:
                await self._pass_error(response, send)
            else:
                await self._pass_answer(exchange, response, send)
        except httpx.RequestError as exc:
            # What has begun cannot become an error: the connection is closed short of its end.
            self._meter.failed(exchange, f"{explain(exc).message}, in the middle of an answer")
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def _pass_answer(self, exchange: Exchange, response: httpx.Response, send: Send) -> None:
        await send(self._start(response, list(response.headers.raw)))
        kind = response.headers.get("content-type", "")
        is_answer = exchange.asked is not None and response.is_success
        scan = AnswerScan(is_event_stream=kind.startswith("text/event-stream"))
        try:
            async for chunk in response.aiter_raw():
                self._meter.stirred()
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                if is_answer:
                    scan.feed(chunk)
        finally:
            if is_answer:
                scan.close()
                self._meter.ended(scan.tokens)
        if scan.fault is not None:
            self._meter.failed(exchange, scan.fault)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pass_error(self, response: httpx.Response, send: Send) -> None:
        # Errors are small, and the one place where a server may repeat the key.
        body = self._keys.inward(b"".join([chunk async for chunk in response.aiter_raw()]))
        headers = [pair for pair in response.headers.raw if pair[0].lower() != b"content-length"]
        length = (b"content-length", str(len(body)).encode())
        await send(self._start(response, [*headers, length]))
        await send({"type": "http.response.body", "body": body})

    def _start(self, response: httpx.Response, headers: Headers) -> dict[str, object]:
        kept = [(name, self._keys.inward(value)) for name, value in _end_to_end(headers)]
        # A status that no server may send.
        status = response.status_code if response.status_code < 600 else 502
        return {"type": "http.response.start", "status": status, "headers": kept}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an agent is told of an endpoint that did not answer."""

    status: int
    message: str


def explain(error: httpx.RequestError) -> Explanation:
    """A foreign error in our words: 504 for an endpoint that stays silent, 502 for all others."""
    is_silent = isinstance(error, httpx.TimeoutException)
    status = 504 if is_silent and not isinstance(error, httpx.ConnectTimeout) else 502
    detail = " ".join(str(error).split())[:_DETAIL_LIMIT]
    name = type(error).__name__
    return Explanation(status, f"the model's endpoint: {name}{': ' if detail else ''}{detail}")


def _end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    pairs = [(name.lower(), value) for name, value in headers]
    named = {
        each.strip().lower()
        for name, value in pairs
        if name == b"connection"
        for each in value.split(b",")
    }
    return [pair for pair in pairs if pair[0] not in _HOP_HEADERS and pair[0] not in named]


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body; None where it is too long, or where the agent has gone before its end."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        piece = message.get("body", b"")
        size += len(piece)
        if message["type"] == "http.disconnect" or size > _BODY_LIMIT_BYTES:
            return None
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    await _until_gone(receive)
    scope.cancel()


async def _refuse(send: Send, status: int, message: str) -> None:
    error = {"type": "api_error", "code": status, "message": message}
    body = json.dumps({"type": "error", "error": error}).encode()
    length = (b"content-length", str(len(body)).encode())
    headers = [(b"content-type", b"application/json"), length]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
