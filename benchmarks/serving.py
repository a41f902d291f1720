"""Start-up and asking, against a bare SDK server, in one run: `python -m benchmarks.serving`.

Prints ratios and ends with status 1 when one is above its bound. The log is written on a real disk,
and every answered question is checked to have had its fsync. Both servers are asked by turns, and
the quickest tenth of each one's calls is compared: what else the machine does only ever adds.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.instant_server import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BOUND = 1.3
Figures = tuple[float, float, float]
"""Seconds of ours, seconds of the bare server, and their ratio."""
Measure = Callable[[Path], Figures]
_STARTS = 15
_CALLS = 800
_WARM_UP_CALLS = 50
_MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"}

_INITIALIZE = {
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


class Peer:
    """A server process that is spoken to in raw JSON-RPC."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **env},
        )
        self._next = 2

    def send(self, message: dict[str, object]) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.child.stdin.flush()

    def receive(self) -> dict[str, object]:
        assert self.child.stdout is not None
        while True:
            message = json.loads(self.child.stdout.readline())
            if "id" in message:
                return message

    def open(self) -> None:
        self.send(_INITIALIZE)
        self.receive()
        self.send({"method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, object]) -> dict[str, object]:
        self._next += 1
        self.send({"id": self._next, "method": method, "params": params})
        return self.receive()

    def close(self) -> None:
        self.child.communicate(timeout=30)


@contextmanager
def peer(command: list[str], env: dict[str, str]) -> Iterator[Peer]:
    one = Peer(command, env)
    try:
        yield one
        one.close()
    finally:
        one.child.kill()
        one.child.wait()


def start_up_s(command: list[str], env: dict[str, str]) -> float:
    """Seconds from the start of the process to its first answer to `tools/list`."""
    started = time.perf_counter()
    with peer(command, env) as one:
        one.open()
        one.request("tools/list", {})
        return time.perf_counter() - started


def call_s(one: Peer, number: int) -> float:
    """Seconds of one ask_human call."""
    started = time.perf_counter()
    one.request("tools/call", {"name": "ask_human", "arguments": {"question": f"Number {number}?"}})
    return time.perf_counter() - started


def median_of(pairs: Iterator[tuple[float, float]]) -> Figures:
    """Median of ours, median of theirs, and the median of the ratios pair by pair."""
    measured = list(pairs)
    return (
        statistics.median(ours for ours, _ in measured),
        statistics.median(bare for _, bare in measured),
        statistics.median(ours / bare for ours, bare in measured),
    )


def quickest_tenth_of(pairs: Sequence[tuple[float, float]]) -> Figures:
    """The 10th percentile of ours, of theirs, and the ratio of these two, once warm."""
    ours, bare = (
        statistics.quantiles(times, n=10)[0] for times in zip(*pairs[_WARM_UP_CALLS:], strict=True)
    )
    return ours, bare, ours / bare


def measure_start_up(folder: Path) -> Figures:
    env = {"HIL_MCP_HOME": str(folder)}
    bare = [sys.executable, "-m", "benchmarks.bare_server"]
    ours = [sys.executable, "-m", "hil_mcp", "serve", "--task", "lockers_late"]
    for command in (bare, ours):  # bytecode and file caches
        start_up_s(command, env)
    return median_of((start_up_s(ours, env), start_up_s(bare, env)) for _ in range(_STARTS))


async def http_call_s(client: Client, number: int) -> float:
    """Seconds of one ask_human call by the SDK's client."""
    started = time.perf_counter()
    await client.call_tool("ask_human", {"question": f"Number {number}?"})
    return time.perf_counter() - started


async def http_calls(mine_url: str, bare_url: str) -> list[tuple[float, float]]:
    """Seconds of calls over HTTP, ours and the bare server's by turns."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
        Client(streamable_http_client(mine_url, http_client=http), mode="legacy") as mine,
        Client(streamable_http_client(bare_url, http_client=http), mode="legacy") as bare,
    ):
        return [
            (await http_call_s(mine, number), await http_call_s(bare, number))
            for number in range(_CALLS)
        ]


@contextmanager
def http_server(command: list[str]) -> Iterator[str]:
    """A server process on a free port, and its address once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    child = subprocess.Popen(
        [*command, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.terminate()
        child.wait(timeout=30)


def measure_asking_over_http(folder: Path) -> Figures:
    log = str(folder / "http.jsonl")
    python = sys.executable
    with (
        http_server([python, "-m", "benchmarks.instant_server", log]) as mine,
        http_server([python, "-m", "benchmarks.bare_server"]) as bare,
    ):
        return quickest_tenth_of(anyio.run(http_calls, mine, bare))


def measure_asking_over_stdio(folder: Path) -> Figures:
    log = folder / "session.jsonl"
    trace = folder / "fsync.trace"
    strace = shutil.which("strace")
    ours = [sys.executable, "-m", "benchmarks.instant_server", str(log)]
    with (
        peer(ours, {}) as mine,
        peer([sys.executable, "-m", "benchmarks.bare_server"], {}) as bare,
    ):
        for one in (mine, bare):
            one.open()
        result = quickest_tenth_of(
            [(call_s(mine, number), call_s(bare, number)) for number in range(_CALLS)]
        )
    if strace is not None:
        check_fsyncs(strace, folder / "traced.jsonl", trace)
    else:
        print("strace is not here: that each reply had its fsync was not checked")
    return result


def check_fsyncs(strace: str, log: Path, trace: Path) -> None:
    """Every reply leaves only after an fsync of the log that follows the question."""
    questions = 5
    command = [strace, "-f", "-e", "trace=fsync", "-o", str(trace), sys.executable]
    with peer([*command, "-m", "benchmarks.instant_server", str(log)], {}) as one:
        one.open()
        for number in range(questions):
            before = trace.read_text().count("fsync(")
            one.request(
                "tools/call", {"name": "ask_human", "arguments": {"question": f"Is it {number}?"}}
            )
            if trace.read_text().count("fsync(") <= before:
                raise SystemExit("a reply left before its fsync")


def refuse_memory_file_system(folder: Path) -> None:
    found = subprocess.run(
        ["stat", "--file-system", "--format=%T", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if found in _MEMORY_FILE_SYSTEMS:
        raise SystemExit(f"{folder} is in memory ({found}): set TMPDIR to a folder on a disk")


def main() -> int:
    status = 0
    cache = Path(".cache")
    cache.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as name:
        folder = Path(name).resolve()
        refuse_memory_file_system(folder)
        rows: list[tuple[str, Measure]] = [
            ("start to tools/list", measure_start_up),
            ("ask_human over HTTP", measure_asking_over_http),
            ("ask_human over stdio", measure_asking_over_stdio),
        ]
        print(f"{'':24}{'hil-mcp':>12}{'bare SDK':>12}{'ratio':>8}{'bound':>8}")
        for label, measure in rows:
            ours, bare, ratio = measure(folder)
            print(f"{label:24}{ours * 1e3:>9.2f} ms{bare * 1e3:>9.2f} ms{ratio:>8.2f}{BOUND:>8.2f}")
            if ratio > BOUND:
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
