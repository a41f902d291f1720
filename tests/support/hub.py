"""A stand-in for the Hugging Face hub: real HTTP on 127.0.0.1, with the routes that are used."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Generator

_TIME = "2026-03-29T10:09:31.000Z"
_COMMIT = "0" * 40


@dataclass
class FakeHub:
    """What the hub holds and how it misbehaves.

    Attributes:
        address: Base address, without a final slash.
        files: `buckets/OWNER/BUCKET/PATH` or `datasets/OWNER/NAME/PATH` -> content.
        cut_after: Path -> bytes after which the next answer breaks off; used once.
        statuses: Path -> statuses that the next answers have, in order.
        has_tags: Whether answers carry an ETag.
        requests: `METHOD path [range]` of every request for a file's content.
    """

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    cut_after: dict[str, int] = field(default_factory=dict[str, int])
    statuses: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    has_tags: bool = True
    requests: list[str] = field(default_factory=list[str])

    def entries(self, root: str, prefix: str) -> list[dict[str, Any]]:
        """The tree of one bucket or data set below `prefix`, all levels at once."""
        return [
            {
                "type": "file",
                "path": path.removeprefix(f"{root}/"),
                "size": len(content),
                "oid": hashlib.sha1(content).hexdigest(),
                "xetHash": hashlib.sha256(content).hexdigest(),
                "mtime": _TIME,
                "uploadedAt": _TIME,
            }
            for path, content in self.files.items()
            if path.startswith(f"{root}/{prefix}")
        ]


@contextmanager
def running_hub() -> Generator[FakeHub]:
    """A hub on a free port of the loopback."""
    hub = FakeHub()

    class Handler(_Handler):
        state = hub

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    state: FakeHub

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path).strip("/")
        parts = path.split("/")
        if parts[0] == "api":
            self._answer_api(parts[1:])
        elif "resolve" in parts:
            at = parts.index("resolve")
            inside = parts[at + 1 :] if parts[0] == "buckets" else parts[at + 2 :]
            self._answer_file("/".join([*parts[:at], *inside]))
        else:
            self._answer_file(path)

    def _answer_api(self, parts: list[str]) -> None:
        root = "/".join(parts[:3])
        if not any(path.startswith(f"{root}/") for path in self.state.files):
            self._answer_json({"error": "not found"}, status=404)
        elif len(parts) > 3 and parts[3] == "tree":
            skipped = 4 if parts[0] == "buckets" else 5
            self._answer_json(self.state.entries(root, "/".join(parts[skipped:])))
        else:
            name = "/".join(parts[1:3])
            self._answer_json(
                {
                    "id": name,
                    "private": False,
                    "createdAt": _TIME,
                    "size": 0,
                    "totalFiles": 0,
                    "sha": _COMMIT,
                }
            )

    def _answer_file(self, path: str) -> None:
        wanted = self.headers.get("Range", "")
        self.state.requests.append(f"{self.command} {path} {wanted}".strip())
        if statuses := self.state.statuses.get(path):
            self._answer_json({}, status=statuses.pop(0))
            return
        content = self.state.files.get(path)
        if content is None:
            self._answer_json({"error": "not found"}, status=404)
            return
        tag = f'"{hashlib.sha256(content).hexdigest()}"'
        start = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        if self.headers.get("If-Range", tag) != tag:
            start = 0
        if start > len(content):
            self._answer_json({}, status=416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if self.state.has_tags:
            self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[start : self.state.cut_after.pop(path, len(content))])

    def _answer_json(self, document: object, status: int = 200) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        if status == 404:
            # By this the library tells a missing data set from any other 404.
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
