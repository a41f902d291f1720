"""What every sandbox promises; the same tests for all three."""

from __future__ import annotations

import os
import secrets
import uuid
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio
import pytest

from hil_mcp.sandbox.errors import SandboxTimeoutError
from tests.support.sandboxes import EACH_SANDBOX, opened

if TYPE_CHECKING:
    from pathlib import Path

    from hil_mcp.sandbox.sandbox import ExecResult, Sandbox, SandboxKind

_LIMIT_BYTES = 100_000


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print('hello')\n")
    (folder / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link.py").symlink_to("src/main.py")
    return folder


@pytest.fixture(params=EACH_SANDBOX)
def kind(request: pytest.FixtureRequest) -> SandboxKind:
    return request.param


async def shell(sandbox: Sandbox, script: str, *, timeout_s: float = 10.0) -> ExecResult:
    return await sandbox.exec(["sh", "-c", script], timeout_s=timeout_s, limit_bytes=_LIMIT_BYTES)


async def test_a_command_gives_its_status_and_both_streams(kind: SandboxKind, tree: Path) -> None:
    async with opened(kind, tree) as sandbox:
        result = await shell(sandbox, "echo out; echo err >&2; exit 7")

        assert (result.status, result.stdout, result.stderr) == (7, b"out\n", b"err\n")
        assert not result.truncated


async def test_arguments_reach_the_program_as_they_are(kind: SandboxKind, tree: Path) -> None:
    arguments = ["", "two words", "$HOME", "'", 'a"b', "new\nline", "ünïcode", "-n"]
    async with opened(kind, tree) as sandbox:
        result = await sandbox.exec(
            ["python3", "-c", "import sys; print(sys.argv[1:])", *arguments],
            timeout_s=10,
            limit_bytes=_LIMIT_BYTES,
        )

        assert result.text.strip() == repr(arguments)


async def test_the_tree_is_laid_out_with_modes_and_links(kind: SandboxKind, tree: Path) -> None:
    async with opened(kind, tree) as sandbox:
        result = await shell(sandbox, "pwd; ./run.sh; python3 link.py; readlink link.py")

        lines = [sandbox.working_dir, "ran", "hello", "src/main.py"]
        assert result.text.splitlines() == lines


async def test_what_a_command_writes_is_there_for_the_next_and_not_in_the_source(
    kind: SandboxKind, tree: Path
) -> None:
    async with opened(kind, tree) as sandbox:
        kept = f"/tmp/{uuid.uuid4()}"
        await shell(sandbox, f"echo new > src/new.txt; echo kept > {kept}; echo home > ~/home")
        result = await shell(sandbox, f"cat src/new.txt {kept} ~/home; rm {kept}")

        assert result.text == "new\nkept\nhome\n"
        assert not (tree / "src" / "new.txt").exists()


async def test_stdin_arrives_whole_and_is_closed(kind: SandboxKind, tree: Path) -> None:
    data = os.urandom(1_500_000)
    async with opened(kind, tree) as sandbox:
        result = await sandbox.exec(["cat"], timeout_s=20, limit_bytes=2_000_000, stdin=data)
        nothing = await sandbox.exec(["cat"], timeout_s=10, limit_bytes=10)

        assert result.stdout == data
        assert nothing.stdout == b""


async def test_output_beyond_the_limit_is_dropped_and_said(kind: SandboxKind, tree: Path) -> None:
    seen: list[int] = []
    async with opened(kind, tree) as sandbox:
        result = await sandbox.exec(
            ["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"],
            timeout_s=10,
            limit_bytes=1000,
            on_stdout=lambda chunk: seen.append(len(chunk)),
        )

        assert result.stdout == b"x" * 1000
        assert result.truncated
        assert sum(seen) == 300_000


async def test_a_missing_program_is_status_127(kind: SandboxKind, tree: Path) -> None:
    async with opened(kind, tree) as sandbox:
        result = await sandbox.exec(["no-such-program"], timeout_s=10, limit_bytes=1000)

        assert result.status == 127
        assert "no-such-program" in result.error_text


async def test_a_signal_is_status_128_and_its_number(kind: SandboxKind, tree: Path) -> None:
    async with opened(kind, tree) as sandbox:
        result = await sandbox.exec(["sh", "-c", "kill -TERM $$"], timeout_s=10, limit_bytes=1000)

        assert result.status == 128 + 15


def _nap() -> str:
    """Seconds that no other process of this machine sleeps."""
    return str(secrets.randbelow(9_000_000) + 1_000_000)


async def test_a_command_past_its_time_is_killed_and_its_output_kept(
    kind: SandboxKind, tree: Path
) -> None:
    nap = _nap()
    async with opened(kind, tree) as sandbox:
        with pytest.raises(SandboxTimeoutError) as caught:
            await shell(sandbox, f"echo begun; sleep {nap}; echo never", timeout_s=1)
        running = await shell(sandbox, _RUNNING)

        assert caught.value.stdout == b"begun\n"
        assert nap not in running.text


_RUNNING = (
    'for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done 2>/dev/null | grep -v tr'
)


async def test_what_a_command_leaves_in_the_background_ends_with_it(
    kind: SandboxKind, tree: Path
) -> None:
    nap, other = _nap(), _nap()
    async with opened(kind, tree) as sandbox:
        with anyio.fail_after(8):
            result = await shell(
                sandbox, f"sleep {nap} & sleep {other} >/dev/null 2>&1 & echo done"
            )
        running = await shell(sandbox, _RUNNING)

        assert result.stdout == b"done\n"
        assert nap not in running.text
        assert other not in running.text


@pytest.mark.parametrize(
    "guarded", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)]
)
async def test_a_process_that_leaves_its_session_ends_with_its_command(
    guarded: SandboxKind, tree: Path
) -> None:
    nap = _nap()
    async with opened(guarded, tree) as sandbox:
        # Often: it may be between two programs, without environment, when its command ends.
        for _ in range(60):
            with anyio.fail_after(8):
                await shell(sandbox, f"setsid sleep {nap} & echo done")
        running = await shell(sandbox, _RUNNING)

        assert nap not in running.text


async def test_a_cancelled_caller_leaves_nothing_running(kind: SandboxKind, tree: Path) -> None:
    begun = anyio.Event()
    nap = _nap()
    async with opened(kind, tree) as sandbox, anyio.create_task_group() as tasks:

        async def command() -> None:
            await sandbox.exec(
                ["sh", "-c", f"echo begun; sleep {nap}"],
                timeout_s=60,
                limit_bytes=1000,
                on_stdout=lambda _chunk: _set(begun),
            )

        tasks.start_soon(command)
        with anyio.fail_after(5):
            await begun.wait()
        tasks.cancel_scope.cancel()
    async with opened(kind, tree) as sandbox:
        running = await shell(sandbox, _RUNNING)

    assert nap not in running.text


def _set(event: anyio.Event) -> None:
    try:
        anyio.from_thread.run_sync(event.set)
    except RuntimeError:  # called on the event loop itself
        event.set()


async def test_commands_run_at_the_same_time(kind: SandboxKind, tree: Path) -> None:
    async with opened(kind, tree) as sandbox, anyio.create_task_group() as tasks:
        with anyio.fail_after(10):
            tasks.start_soon(shell, sandbox, "until [ -e meet ]; do sleep 0.1; done")
            await shell(sandbox, ": > meet")
    # Each waits for the other's file; one after the other they would never end.


async def test_two_sessions_do_not_see_each_other(kind: SandboxKind, tree: Path) -> None:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(opened(kind, tree, session_id="one"))
        second = await stack.enter_async_context(opened(kind, tree, session_id="two"))
        await shell(first, "echo mine > ./mine")
        result = await shell(second, 'ls; echo "$HOME"')

        assert "mine" not in result.text
