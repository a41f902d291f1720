"""A judge's server on loopback that passes the probe and fails every other question."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from judge.probe import KNOWN_MATCH, KNOWN_MATCH_ID, KNOWN_NON_MATCH, KNOWN_REGISTRY
from tests.support.endpoints import MODEL, verdict_text

if TYPE_CHECKING:
    from collections.abc import Generator

_PLACE = [blocker.blocker_id for blocker in KNOWN_REGISTRY.blockers].index(KNOWN_MATCH_ID) + 1
_KNOWN = {KNOWN_MATCH: f"B{_PLACE}", KNOWN_NON_MATCH: "none"}


@dataclass
class JudgeServer:
    """Where it is, and what it was sent."""

    url: str
    keys: set[str | None]
    """All Authorization headers; None for a request without."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    about: JudgeServer

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": MODEL}]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = request["messages"][0]["content"]
        key = next((key for question, key in _KNOWN.items() if question in text), None)
        if key is None:
            self._send(400, {"message": "it fell over"})
            return
        message = {"content": verdict_text(key)}
        self._send(
            200, {"model": MODEL, "choices": [{"message": message, "finish_reason": "stop"}]}
        )

    def _send(self, status: int, document: object) -> None:
        self.about.keys.add(self.headers["authorization"])
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def judge_server() -> Generator[JudgeServer]:
    """The server for the time of the context; its model is called `MODEL`."""
    about = JudgeServer(url="", keys=set())

    class Handler(_Handler):
        pass

    Handler.about = about
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        about.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield about
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
