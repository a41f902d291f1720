"""The HTTP side of the scripted model: a loopback port, a thread a connection, a list of requests.

A thread and not a task, so that a test of any kind can use it, and one that blocks too.
"""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tests.support.scripted_model.anthropic import AnthropicMessages
from tests.support.scripted_model.chat import ChatCompletions
from tests.support.scripted_model.dialect import Dialect, Reply, json_reply
from tests.support.scripted_model.gemini import GeminiGenerate
from tests.support.scripted_model.responses import OpenAIResponses
from tests.support.scripted_model.script import Behaviour, Fault, ModelRequest, Turn, Usage

if TYPE_CHECKING:
    from collections.abc import Generator

_DIALECTS: tuple[Dialect, ...] = (
    AnthropicMessages(),
    OpenAIResponses(),
    ChatCompletions(),
    GeminiGenerate(),
)
# Agents ask for titles, summaries and next speakers beside the work, and offer no tools there.
_ASIDE = Turn(text="{}")


@dataclass(slots=True)
class ModelEndpoint:
    """A running endpoint."""

    behaviour: Behaviour
    usage: Usage = field(default_factory=Usage)
    only_key: str | None = None
    """Any other is refused; None takes all."""
    port: int = 0
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])
    """Every request that offered tools, in order of arrival."""
    asides: list[ModelRequest] = field(default_factory=list[ModelRequest])
    """Requests without tools: titles and the like."""
    refused: list[str] = field(default_factory=list[str])
    """Paths and bodies that no API family could read."""
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Base address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path: str, key: str, body: bytes) -> Reply | None:
        """The answer to one POST; None means that the connection is to be dropped."""
        path = path.partition("?")[0]
        if path.endswith(("count_tokens", ":countTokens")):
            tokens = self.usage.input_tokens
            return json_reply({"input_tokens": tokens, "totalTokens": tokens})
        dialect = next((dialect for dialect in _DIALECTS if dialect.accepts(path)), None)
        if dialect is None:
            self.refused.append(path)
            return Reply(status=404, body=b"{}")
        try:
            request = dialect.read(path, key, body)
        except ValidationError as exc:
            self.refused.append(f"{path}: {exc}")
            return Reply(status=400, body=b"{}")
        (self.requests if request.tools else self.asides).append(request)
        chosen = self.behaviour(request) if request.tools else _ASIDE
        if self.only_key not in (None, key):
            chosen = Fault(status=401, message="invalid api key")
        if chosen.delay_s:
            self.closing.wait(chosen.delay_s)
        if isinstance(chosen, Turn):
            return dialect.write(path, body, chosen, self.usage)
        return None if chosen.drop else _error(dialect, chosen)


def _error(dialect: Dialect, fault: Fault) -> Reply:
    body = dialect.fail(fault) if fault.body is None else fault.body
    return Reply(status=fault.status, body=json.dumps(body).encode())


@contextmanager
def model_endpoint(
    behaviour: Behaviour, *, usage: Usage | None = None, listener: socket.socket | None = None
) -> Generator[ModelEndpoint]:
    """Serve a behaviour until the block ends: on a bound socket, or on a free loopback port."""
    endpoint = ModelEndpoint(behaviour, usage=usage or Usage())

    class Handler(_Handler):
        model = endpoint

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=listener is None)
    if listener is not None:
        server.socket.close()
        server.socket = listener
        server.server_activate()
    server.daemon_threads = True
    endpoint.port = server.socket.getsockname()[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes
    model: ModelEndpoint

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet: a test reads `requests` instead."""

    def do_HEAD(self) -> None:
        self._send(Reply(body=b""))

    def do_GET(self) -> None:
        known = "/models" in self.path
        body = b'{"models": [], "data": []}' if known else b"{}"
        self._send(Reply(status=200 if known else 404, body=body))

    def do_POST(self) -> None:
        # An agent that is killed or gives up while it waits is no error of the endpoint.
        with suppress(ConnectionError):
            reply = self.model.answer(self.path, self._key(), self._body())
            if reply is None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                self._send(reply)

    def _key(self) -> str:
        headers = self.headers
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        chunks: list[bytes] = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)
