"""The protocol's messages over two descriptors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.stdio_transport import MessageReader, MessageWriter
from tests.support.servers import call, initialize, receive, running, send, serve_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TASK = "lockers_late"


class Pipe:
    """Both ends of a pipe."""

    def __init__(self) -> None:
        self.out, self.into = os.pipe()
        self._open = {self.out, self.into}

    def close(self, end: int) -> None:
        self._open.discard(end)
        os.close(end)

    def close_all(self) -> None:
        for end in tuple(self._open):
            self.close(end)

    def lines(self) -> list[dict[str, Any]]:
        """Everything that was written, once the writing end is closed."""
        with os.fdopen(self.out, "rb", closefd=False) as file:
            return [json.loads(line) for line in file]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    one = Pipe()
    yield one
    one.close_all()


def _ping(number: int) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode()


def _reply(number: int, text: str = "") -> SessionMessage:
    return SessionMessage(
        types.JSONRPCResponse(jsonrpc="2.0", id=number, result={"text": text} if text else {})
    )


async def _ids(reader: MessageReader) -> list[object]:
    """The ids of all messages to come; None for a line that holds none."""
    return [
        None if isinstance(item, Exception) else getattr(item.message, "id", None)
        async for item in reader
    ]


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (_ping(1) + b"\n" + _ping(2) + b"\n", [1, 2]),
        (_ping(1) + b"\r\n" + _ping(2), [1, 2]),
        (_ping(1) + b"\nnoise\n\n" + _ping(2) + b"\n", [1, None, None, 2]),
        (b"", []),
    ],
    ids=["two in one piece", "the last without its end", "lines that hold none", "nothing"],
)
async def test_every_line_is_one_message_until_the_agent_closes_its_end(
    pipe: Pipe, data: bytes, ids: list[object]
) -> None:
    os.write(pipe.into, data)
    pipe.close(pipe.into)

    assert await _ids(MessageReader(pipe.out)) == ids


async def test_a_message_that_comes_in_pieces_is_put_together(pipe: Pipe) -> None:
    long = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"x": "é" * 200_000}})
    data = long.encode() + b"\n" + _ping(8) + b"\n"

    def write() -> None:
        for start in range(0, len(data), 40_001):
            os.write(pipe.into, data[start : start + 40_001])
        pipe.close(pipe.into)

    ids: list[object] = []
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, write)
            ids += await _ids(MessageReader(pipe.out))

    assert ids == [7, 8]


async def test_a_byte_that_is_no_utf8_spoils_only_its_character(pipe: Pipe) -> None:
    os.write(pipe.into, _ping(1).replace(b"ping", b"pi\xffng") + b"\n")

    item = await MessageReader(pipe.out).receive()

    assert isinstance(item, SessionMessage)
    assert isinstance(item.message, types.JSONRPCRequest)
    assert item.message.method == "pi\ufffdng"


async def test_a_reply_larger_than_the_pipe_arrives_whole_and_others_wait_their_turn(
    pipe: Pipe,
) -> None:
    writer = MessageWriter(pipe.into)

    async def write() -> None:
        async with anyio.create_task_group() as sending:
            for number in range(3):
                sending.start_soon(writer.send, _reply(number, "x" * 300_000))
        pipe.close(pipe.into)

    lines: list[dict[str, Any]] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        lines += await anyio.to_thread.run_sync(pipe.lines)

    assert [(line["id"], len(line["result"]["text"])) for line in lines] == [
        (0, 300_000),
        (1, 300_000),
        (2, 300_000),
    ]


async def test_a_message_that_is_given_up_halfway_is_not_left_torn(pipe: Pipe) -> None:
    writer = MessageWriter(pipe.into)

    async def write() -> None:
        await writer.send(_reply(2))
        pipe.close(pipe.into)

    lines: list[dict[str, Any]] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writer.send, _reply(1, "x" * 300_000))
        await anyio.wait_readable(pipe.out)
        tasks.cancel_scope.cancel()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        lines += await anyio.to_thread.run_sync(pipe.lines)

    assert [line["id"] for line in lines] == [1, 2]


async def test_an_agent_that_no_longer_reads_is_named_and_later_replies_too(pipe: Pipe) -> None:
    writer = MessageWriter(pipe.into)
    pipe.close(pipe.out)

    for number in (1, 2):
        with pytest.raises(anyio.BrokenResourceError):
            await writer.send(_reply(number))


async def test_a_lone_surrogate_leaves_as_an_escape(pipe: Pipe) -> None:
    await MessageWriter(pipe.into).send(_reply(1, "a\ud800b"))
    pipe.close(pipe.into)

    assert pipe.lines() == [{"jsonrpc": "2.0", "id": 1, "result": {"text": "a\ud800b"}}]


def test_whatever_else_runs_in_the_process_is_kept_off_the_protocol() -> None:
    program = """
import os, subprocess, sys
from hil_mcp.stdio_transport import stdio_streams
with stdio_streams():
    print("stray")
    subprocess.run(["cat"])
    subprocess.run(["echo", "child"])
    sys.stdout.write("late")
print(sys.stdin.read())
"""

    done = subprocess.run(
        [sys.executable, "-c", program], input=b"for the agent", capture_output=True, timeout=60
    )

    assert done.stdout == b"for the agent\n"
    assert sorted(done.stderr.split()) == [b"child", b"late", b"stray"]


def test_files_serve_as_stdin_and_stdout(tmp_path: Path) -> None:
    asked, answered = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    asked.write_bytes(_ping(1) + b"\n" + _ping(2) + b"\n")

    with asked.open("rb") as stdin, answered.open("wb") as stdout:
        done = subprocess.run(
            serve_command("--task", TASK), stdin=stdin, stdout=stdout, timeout=60, check=False
        )

    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in answered.read_bytes().splitlines()] == [1, 2]


def test_a_closed_stdin_is_one_line_with_the_status_of_wrong_usage() -> None:
    command = ["sh", "-c", 'exec "$@" <&-', "sh", *serve_command("--task", TASK)]

    done = subprocess.run(command, capture_output=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (ExitStatus.USAGE, b"")
    assert b"stdin and stdout" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_replies_that_the_agent_does_not_read_at_once_all_arrive() -> None:
    with running(serve_command("--task", TASK)) as child:
        initialize(child)
        wide = "SELECT printf('%.*c', 3000, 'x') FROM (VALUES (1), (2), (3), (4), (5), (6), (7))"
        for number in range(2, 22):  # more than the pipe takes
            call(child, number, "execute_sql", {"query": wide})
        send(child, {"id": 99, "method": "ping"})
        ids = {receive(child)["id"] for _ in range(21)}

    assert ids == {*range(2, 22), 99}
