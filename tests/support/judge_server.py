"""A judge's server on loopback that passes the probe and answers other questions as it is told."""

from __future__ import annotations

import itertools
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, cast

from judge.probe import KNOWN_MATCH, KNOWN_MATCH_ID, KNOWN_NON_MATCH, KNOWN_REGISTRY
from tests.support.endpoints import MODEL, verdict_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_PLACE = [blocker.blocker_id for blocker in KNOWN_REGISTRY.blockers].index(KNOWN_MATCH_ID) + 1
_KNOWN = {KNOWN_MATCH: f"B{_PLACE}", KNOWN_NON_MATCH: "none"}

Answer = tuple[int, str]
"""HTTP status; the model's text for 200, a message otherwise."""


class JudgeServer(ThreadingHTTPServer):
    """Where it is, and what it was sent."""

    daemon_threads = True

    def __init__(self, answer: Callable[[int], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.keys: set[str | None] = set()
        """All Authorization headers; None for a request without."""
        self.numbers = itertools.count(1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay quiet: a client that ends in the middle hangs up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": MODEL}]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = request["messages"][0]["content"]
        key = next((key for question, key in _KNOWN.items() if question in text), None)
        if key is not None:
            status, said = 200, verdict_text(key)
        else:
            server = cast("JudgeServer", self.server)
            status, said = server.answer(next(server.numbers))
        if status != 200:
            self._send(status, {"message": said})
            return
        choice = {"message": {"content": said}, "finish_reason": "stop"}
        self._send(200, {"model": MODEL, "choices": [choice]})

    def _send(self, status: int, document: object) -> None:
        cast("JudgeServer", self.server).keys.add(self.headers["authorization"])
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def judge_server(answer: Callable[[int], Answer] | None = None) -> Generator[JudgeServer]:
    """The server for the time of the context; its model is called `MODEL`.

    Args:
        answer: What is answered to the n-th question after the probe, from 1; called in a thread.
            By default every such question fails.
    """
    server = JudgeServer(answer or (lambda _: (400, "it fell over")))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
