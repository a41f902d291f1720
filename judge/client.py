"""The one HTTP client: an OpenAI-compatible server, spoken to over one pool of connections.

One call is one request: no retries here (`judge.retries`), no reading of what the model wrote
(`judge.reply`). Foreign errors become `CallError` by the table below and nothing else leaves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from judge.address import read_address
from judge.call_error import CallError
from judge.completion import read_completion
from judge.errors import JudgeUsageError
from judge.outbound import proxy_for
from judge.refusal import error_inside, refusal
from judge.served import read_models
from judge.server_text import one_line

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from types import TracebackType

    from judge.address import ServerAddress
    from judge.call_error import CallErrorClass, Culprit
    from judge.completion import ChatReply
    from judge.outbound import Proxy
    from judge.served import ServedModel

REPLY_LIMIT_BYTES = 1_000_000
"""A longer reply is garbage: a verdict has a few hundred bytes."""
_NO_SERVER = "is an OpenAI-compatible server running there?"
_NO_HTTPS = "does the server speak https? give the address with http:// if not"
# OpenSSL's words, and what to do about them.
_TLS_ADVICE = (
    (
        "mismatch",
        "its certificate is for another name: give the address by the name that it is for",
    ),
    ("expired", "its certificate has run out"),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "its certificate is not trusted here: name a file with the certificate of its authority "
        "in the environment variable SSL_CERT_FILE",
    ),
    ("WRONG_VERSION_NUMBER", _NO_HTTPS),
    ("RECORD_LAYER_FAILURE", _NO_HTTPS),
)


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
            url: Base address, with or without `/v1`; see `judge.address.read_address`.
            api_key: Sent as a bearer token; None sends none.
            connections: Size of the pool.
            transport: Instead of the network, for tests.

        Raises:
            JudgeUsageError: The address or the key cannot be sent, or a proxy or a file of
                certificates that the environment names cannot be used.
        """
        self._address = read_address(url)
        headers = {"Accept": "application/json"}
        if api_key is not None:
            if not api_key.isascii() or not api_key.isprintable() or not api_key.strip():
                raise JudgeUsageError("the judge's API key is empty or has characters no key has")
            headers["Authorization"] = f"Bearer {api_key}"
        self._proxy = proxy_for(self._address) if transport is None else None
        self._http = _http_client(
            self._address, self._proxy, headers, connections=connections, transport=transport
        )

    @property
    def base_url(self) -> str:
        """The server's address as a message shows it: no password."""
        return self._address.shown

    async def complete(self, request: Mapping[str, object]) -> ChatReply:
        """Send one chat completion; how long it may take is the caller's scope.

        Args:
            request: Body of `POST /v1/chat/completions`.

        Raises:
            CallError: No reply, an error status, or a reply that is not a completion.
        """
        return read_completion(await self._send("POST", "/chat/completions", request))

    async def models(self) -> tuple[ServedModel, ...]:
        """The models that the server offers.

        Raises:
            CallError: It does not say.
        """
        return read_models(await self._send("GET", "/models", None))

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
        url = self._address.url(path)
        try:
            async with self._http.stream(method, url, content=content, headers=headers) as response:
                body = await _read(response)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx.CookieConflict) as exc:
            raise _translated(exc, self.base_url, self._proxy) from exc
        code = error_inside(body) if response.is_success else response.status_code
        if code is None:
            return body
        error = refusal(
            code,
            body,
            url=self._address.shown_url(path),
            headers=response.headers,
            is_in_body=response.is_success,
        )
        if self._proxy is not None:
            # Proxies answer in the server's place; nothing in the reply need tell.
            error.args = (f"{error}, asked through {self._proxy.shown}",)
        raise error


def _http_client(
    address: ServerAddress,
    proxy: Proxy | None,
    headers: Mapping[str, str],
    *,
    connections: int,
    transport: httpx.AsyncBaseTransport | None,
) -> httpx.AsyncClient:
    # Loading the certificates costs a tenth of a second.
    verify = _certificates() if address.base.startswith("https:") else False
    try:
        return httpx.AsyncClient(
            headers=headers,
            auth=address.login,
            timeout=httpx.Timeout(None, connect=5.0),
            limits=httpx.Limits(max_connections=connections),
            transport=transport,
            proxy=proxy.url if proxy else None,
            # Certificates and proxies are settled above; redirects are not followed.
            trust_env=False,
            verify=verify,
        )
    except (httpx.InvalidURL, ValueError, ImportError) as exc:
        # ImportError: httpx without its extra for SOCKS.
        if proxy is None:
            raise
        raise JudgeUsageError(
            f"{proxy.shown} cannot be used: give it as http://HOST:PORT, or name {address.host} "
            "in no_proxy"
        ) from exc


def _certificates() -> ssl.SSLContext:
    try:
        return httpx.create_ssl_context()
    except OSError as exc:
        raise JudgeUsageError(
            "no certificates can be loaded from what SSL_CERT_FILE or SSL_CERT_DIR names: "
            f"{exc.strerror or exc}"
        ) from exc


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


def _translated(error: Exception, address: str, proxy: Proxy | None) -> CallError:
    meaning = meaning_of(error)
    detail = one_line(str(error))
    tls = None
    if isinstance(error, httpx.ConnectError) and "[SSL" in detail:
        tls = next((advice for words, advice in _TLS_ADVICE if words in detail), None)
    way = f" through {proxy.shown}" if proxy else ""
    advice = f"is {proxy.shown} right and running?" if proxy else _NO_SERVER
    return CallError(
        f"{address}{way}: {type(error).__name__}: {detail or 'no detail'}",
        error_class=meaning.error_class,
        is_transient=meaning.is_transient and tls is None,
        culprit="address" if tls else meaning.culprit,
        advice=tls or (advice if meaning.culprit == "address" else None),
    )
