"""The contract of a cell, kept by each kind."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest

from clients.process import run_child, start_child
from hil_mcp.errors import SandboxError
from tests.support.cells import EACH_CELL, opened_cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clients.process import ChildResult
    from hil_mcp.runs.cell import Cell, IsolationKind


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own are shut to others."""
    with TemporaryDirectory(prefix="hil-mcp-cells-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


async def _sh(cell: Cell, script: str) -> ChildResult:
    return await run_child(
        cell.command(["/bin/sh", "-c", script]),
        env={"PATH": os.environ["PATH"], "HOME": str(cell.home)},
        cwd=cell.workspace,
        timeout_s=20,
        limit_bytes=100_000,
    )


@pytest.mark.parametrize("kind", EACH_CELL)
async def test_folders_are_empty_private_and_gone_at_the_end(
    kind: IsolationKind, place: Path
) -> None:
    async with opened_cell(kind, place / "run" / "cell") as cell:
        for folder in (cell.home, cell.workspace):
            assert list(folder.iterdir()) == []
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        await _sh(cell, "echo a >file; mkdir shut; echo b >shut/file; chmod 0 shut")

    assert not (place / "run" / "cell").exists()


@pytest.mark.parametrize("kind", EACH_CELL)
async def test_a_command_sees_the_folders_at_the_paths_they_have_outside(
    kind: IsolationKind, place: Path
) -> None:
    async with opened_cell(kind, place / "cell") as cell:
        (cell.home / "written").write_text("by the runner")
        result = await _sh(cell, f"pwd -P; cat {cell.home}/written; echo agent >{cell.home}/back")

        assert result.stdout.data.decode() == f"{cell.workspace}\nby the runner"
        assert (cell.home / "back").read_text() == "agent\n"


@pytest.mark.parametrize("kind", EACH_CELL)
async def test_the_environment_and_the_streams_of_a_command_are_the_caller_s(
    kind: IsolationKind, place: Path
) -> None:
    async with opened_cell(kind, place / "cell") as cell:
        result = await run_child(
            cell.command(["/bin/sh", "-c", "read line; echo $line $WORD; echo err >&2; exit 7"]),
            env={"PATH": os.environ["PATH"], "WORD": "said"},
            cwd=cell.workspace,
            timeout_s=20,
            limit_bytes=1000,
            stdin=b"heard\n",
        )

    assert (result.status, result.stdout.data, result.stderr.data) == (7, b"heard said\n", b"err\n")


@pytest.mark.parametrize("kind", EACH_CELL)
@pytest.mark.parametrize("way", ["session_listener", "model_listener"])
async def test_what_is_served_on_a_listener_is_reached_from_inside(
    kind: IsolationKind, way: str, place: Path
) -> None:
    async with opened_cell(kind, place / "cell") as cell:
        listener = getattr(cell, way)
        host, port = listener.getsockname()
        listener.listen()
        code = f"import socket; print(socket.create_connection(('{host}', {port})).recv(9))"
        async with await start_child(
            cell.command(["/usr/bin/env", "python3", "-c", code]),
            env={"PATH": os.environ["PATH"]},
            cwd=cell.workspace,
        ) as child:
            with anyio.fail_after(20):
                listener.settimeout(20)
                connection, _ = await anyio.to_thread.run_sync(listener.accept)
                with connection:
                    connection.sendall(b"served")
                said = await child.read_stdout(limit_bytes=100)

    assert (host, said.data) == ("127.0.0.1", b"b'served'\n")


@pytest.mark.parametrize("kind", EACH_CELL)
async def test_a_process_that_left_its_group_ends_with_the_cell(
    kind: IsolationKind, place: Path
) -> None:
    seconds = str(secrets.randbelow(9_000_000) + 1_000_000)
    async with opened_cell(kind, place / "cell") as cell:
        leave = f"setsid sh -c ': >up; exec sleep {seconds}' >/dev/null 2>&1 &"
        result = await _sh(cell, f"{leave} until [ -e up ]; do sleep 0.02; done")
        assert result.status == 0

    assert _running(seconds) == []


async def test_a_process_that_cleared_its_environment_ends_with_its_command_in_name_spaces(
    place: Path,
) -> None:
    seconds = str(secrets.randbelow(9_000_000) + 1_000_000)
    async with opened_cell("bubblewrap", place / "cell") as cell:
        leave = f"env -i setsid sh -c ': >up; exec sleep {seconds}' >/dev/null 2>&1 &"
        await _sh(cell, f"{leave} until [ -e up ]; do sleep 0.02; done")

        with anyio.fail_after(5):  # the kernel takes a moment to clear a name space up
            while _running(seconds):  # noqa: ASYNC110  # its end gives no event
                await anyio.sleep(0.02)


@pytest.mark.parametrize("kind", EACH_CELL)
async def test_a_folder_that_is_there_already_is_refused(kind: IsolationKind, place: Path) -> None:
    with pytest.raises(SandboxError, match="no folder can be made"):
        async with opened_cell(kind, place):
            pass

    assert place.is_dir()


def _running(argument: str) -> list[str]:
    return [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if argument.encode() in _bytes_of(path)
    ]


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
