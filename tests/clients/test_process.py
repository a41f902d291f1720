"""Child processes: bounded, and gone with everything that they started."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import pytest

from clients.process import ChildResult, end_marked, run_child, start_child

if TYPE_CHECKING:
    from pathlib import Path

ENV = {"PATH": "/usr/bin:/bin"}


async def run(script: str, *arguments: str, **options: float | bytes) -> ChildResult:
    given: dict[str, float | bytes] = {"timeout_s": 10, "limit_bytes": 1000, **options}
    return await run_child(
        ["sh", "-c", script, "sh", *arguments],
        env=ENV,
        timeout_s=float(given["timeout_s"]),
        limit_bytes=int(given["limit_bytes"]),
        stdin=bytes(given.get("stdin", b"")),  # type: ignore[arg-type]
    )


async def ends(pid: int) -> None:
    """Waits for the end of a process that may not be ours; a killed one takes a moment to die."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            with anyio.fail_after(5):
                await anyio.wait_readable(handle)
        finally:
            os.close(handle)


async def test_status_and_both_streams_come_back() -> None:
    result = await run("cat; echo wrong >&2; exit 3", stdin=b"given")

    assert (result.status, result.timed_out) == (3, False)
    assert (result.stdout.data, result.stderr.data) == (b"given", b"wrong\n")
    assert not result.stdout.is_cut


async def test_a_signal_is_a_negative_status() -> None:
    assert (await run("kill -9 $$")).status == -9


async def test_output_beyond_the_limit_is_dropped_and_the_program_still_ends() -> None:
    result = await run("head -c 1000000 /dev/zero; echo end >&2", limit_bytes=10)

    assert result.status == 0
    assert result.stdout.data == b"\0" * 10
    assert result.stdout.is_cut
    assert result.stderr.data == b"end\n"


async def test_a_program_that_takes_too_long_is_killed_and_its_output_kept() -> None:
    result = await run("echo begun; sleep 60", timeout_s=0.3)

    assert result.timed_out
    assert result.stdout.data == b"begun\n"


async def test_what_the_program_started_is_killed_with_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    await run('sleep 60 & echo $! > "$1"; sleep 60', str(pid_file), timeout_s=0.3)
    left_by_a_leader = await run("sleep 60 >/dev/null 2>&1 & echo $!")

    await ends(int(pid_file.read_text()))
    await ends(int(left_by_a_leader.stdout.data))


async def test_cancelling_kills_the_program() -> None:
    with anyio.fail_after(10):
        async with await start_child(["sleep", "60"], env=ENV) as child:
            pid = child.pid
            with anyio.move_on_after(0):
                await child.wait()
            os.kill(pid, 0)  # it still runs

    await ends(pid)


async def test_the_child_leads_a_session_of_its_own_and_has_no_other_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "x")
    script = "import os; print(os.getsid(0) == os.getpid(), 'SECRET_OF_THE_PARENT' in os.environ)"

    async with await start_child([sys.executable, "-c", script], env=ENV) as child:
        output = await child.read_stdout(limit_bytes=100)
        assert os.getsid(0) != child.pid

    assert output.data == b"True False\n"


async def test_sending_to_a_program_that_has_gone_is_no_error() -> None:
    async with await start_child(["true"], env=ENV) as child:
        await child.wait()
        await child.send(b"x" * 1_000_000)
        await child.end()


async def test_a_program_that_does_not_exist_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await start_child([str(tmp_path / "gone")], env=ENV)


async def test_pieces_come_as_they_are_written() -> None:
    async with await start_child(["sh", "-c", "echo one; read line; echo two"], env=ENV) as child:
        first = await child.receive()
        await child.send(b"\n")
        second = await child.receive()
        end = await child.receive()

    assert (first, second, end) == (b"one\n", b"two\n", b"")


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
async def test_what_left_its_group_is_found_by_its_mark() -> None:
    mark = f"HIL_MCP_TEST_MARK={secrets.token_hex(8)}"
    name, _, value = mark.partition("=")
    started = await run_child(
        ["sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!"],
        env={**ENV, name: value},
        timeout_s=10,
        limit_bytes=100,
    )

    await end_marked(mark)

    await ends(int(started.stdout.data))
