"""A judge's server on loopback that fails in every way at random, and else tells the truth.

The right answer follows from the question's number, so that any verdict can be checked.
"""

from __future__ import annotations

import json
import random
import re
import socket
import struct
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from tests.support.endpoints import MODEL, verdict_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.abc import SocketStream

FAULTS = (
    "429",
    "500",
    "503",
    "404",
    "reset",
    "silent",
    "slow",
    "garbage",
    "not_http",
    "cut_body",
    "cut_reply",
    "no_verdict",
    "other_model",
    "wrong_key",
)
N_BLOCKERS = 4
_NUMBER = re.compile(r"number (\d+)\?")
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def question(number: int) -> str:
    return f"Which boat is number {number}?"


def right_alias(number: int) -> str:
    """`none` for every fifth question, else one of B1 to B4."""
    place = number % (N_BLOCKERS + 1)
    return f"B{place}" if place else "none"


class FaultServer:
    """Counts what it did."""

    def __init__(self, *, seed: int) -> None:
        self.share = 0.0
        """Share of requests that fail, in [0, 1]."""
        self._chance = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.url = ""

    async def handle(self, stream: SocketStream) -> None:
        async with stream:
            buffer = b""
            while True:
                try:
                    buffer, body = await _read_request(stream, buffer)
                    if not await self._answer(stream, body):
                        return
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    async def _answer(self, stream: SocketStream, body: bytes) -> bool:
        """Answer one request; whether the connection may be used again."""
        is_fault = self._chance.random() < self.share
        fault = self._chance.choice(FAULTS) if is_fault else "truth"
        self.done[fault] += 1
        number = int(_NUMBER.findall(json.loads(body)["messages"][0]["content"])[-1])
        truth = right_alias(number)
        whole = _completion(verdict_text(truth))
        match fault:
            case "reset":
                _reset(stream)
            case "silent":
                await stream.send(b"HTTP/1.1 200 OK\r\n")
            case "slow":
                # Longer than the judge waits: a byte now and then, so that no read times out.
                await stream.send(_head(200, 99_999))
                while True:
                    await stream.send(b" ")
                    await anyio.sleep(0.02)
            case "not_http":
                await stream.send(b"SSH-2.0-OpenSSH_9.2\r\n")
            case "cut_body":
                await stream.send(_head(200, len(whole)) + whole[: len(whole) // 2])
            case _:
                status, reply = _REPLIES.get(fault, (200, whole))
                await stream.send(_head(status, len(reply)) + reply)
                return True
        return False


@asynccontextmanager
async def running_fault_server(*, seed: int = 7) -> AsyncGenerator[FaultServer]:
    """The server on a free port, without faults until its `share` is set."""
    server = FaultServer(seed=seed)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = int(listener.extra(anyio.abc.SocketAttribute.local_port))
        server.url = f"http://127.0.0.1:{port}"
        async with anyio.create_task_group() as serving:
            serving.start_soon(listener.serve, server.handle)
            yield server
            serving.cancel_scope.cancel()


async def _read_request(stream: SocketStream, buffer: bytes) -> tuple[bytes, bytes]:
    while b"\r\n\r\n" not in buffer:
        buffer += await stream.receive()
    head, _, rest = buffer.partition(b"\r\n\r\n")
    found = _LENGTH.search(head)
    length = int(found[1]) if found else 0
    while len(rest) < length:
        rest += await stream.receive()
    return rest[length:], rest[:length]


def _completion(text: str, *, model: str = MODEL, finish: str = "stop") -> bytes:
    choice = {"message": {"content": text}, "finish_reason": finish}
    return json.dumps({"model": model, "choices": [choice]}).encode()


def _head(status: int, length: int) -> bytes:
    retry = "Retry-After: 0\r\n" if status == 429 else ""
    return f"HTTP/1.1 {status} X\r\n{retry}Content-Length: {length}\r\n\r\n".encode()


def _reset(stream: SocketStream) -> None:
    raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


_BUSY = b'{"error": {"message": "model is busy"}}'
_REPLIES = {
    **{status: (int(status), _BUSY) for status in ("429", "500", "503")},
    "404": (404, b'{"error": {"message": "the model does not exist"}}'),
    "garbage": (200, b"\x00\xff<html>" * 20),
    "cut_reply": (200, _completion('{"blocker_key": "B1", "re', finish="length")),
    "no_verdict": (200, _completion("I would say it is the first boat, B1.")),
    "other_model": (200, _completion(verdict_text("B1"), model="other")),
    "wrong_key": (200, _completion('{"blocker_key": {"B1": true}}')),
}
