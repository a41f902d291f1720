"""Runs that go wrong: the right outcome, nothing left running, and `--resume` completes them."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from clients.process import OutputSink, start_child
from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.run_folder import finished_attempts
from tests.support.agent_shell import shell_call
from tests.support.run_command import KEYS, RunCommand, run_command
from tests.support.scripted_model import Call, Fault, Turn, model_endpoint, play

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tests.support.scripted_model import ModelRequest

pytestmark = pytest.mark.agents

ONE = ("--tasks", "lockers_late", "--modes", "ask_human")
SUBMIT = Call("submit_sql", {"query": "SELECT 1"})
SUBMITS = play(Turn(calls=(SUBMIT,)))
# Some agents refuse to sleep for long.
WAITS = "tail -f /dev/null"
QUICK = ("--time-limit", "25", "--max-requests", "4", "--model-timeout", "4", "--max-tries", "1")


class Switched:
    """A behaviour that a test changes while the endpoint runs."""

    def __init__(self) -> None:
        self.fault: Fault | Turn | None = None

    def __call__(self, request: ModelRequest) -> Turn | Fault:
        return self.fault or SUBMITS(request)


@pytest.mark.parametrize("agent", KEYS)
async def test_an_endpoint_that_fails_is_never_the_agent_s_doing(
    agent: str, home: Path, tmp_path: Path
) -> None:
    behaviour = Switched()
    faults = [Fault(status=status) for status in (401, 429, 500)]
    with (
        model_endpoint(behaviour) as model,
        run_command(agent, model.url, home, tmp_path / "run", *ONE, *QUICK) as command,
    ):
        more: tuple[str, ...] = ()
        for fault in (*faults, Turn(delay_s=60.0)):
            behaviour.fault = fault
            ended = await command.carry_out(*more)
            assert ended.status == ExitStatus.PROGRAM, ended.stderr
            assert (ended.mode()["n_counted"], ended.mode()["n_harness"]) == (0, 1)
            more = ("--resume",)
        behaviour.fault = None
        completed = await command.carry_out("--resume")

    assert completed.status == 0, completed.stderr
    assert completed.document["n_tries_by_outcome"] == {"model_error": 4, "finished": 1}
    assert completed.mode()["n_counted"] == 1


@pytest.mark.parametrize("agent", KEYS)
async def test_an_interrupted_run_leaves_nothing_running_and_is_completed_later(
    agent: str, home: Path, tmp_path: Path
) -> None:
    behaviour = Switched()
    behaviour.fault = Turn(calls=(shell_call(agent, WAITS),))
    with (
        model_endpoint(behaviour) as model,
        run_command(agent, model.url, home, tmp_path / "run", *ONE) as command,
    ):
        status = await _disturbed(command, home, _press_ctrl_c)
        assert status == ExitStatus.INTERRUPTED
        assert _programs(home) == {}
        assert list(finished_attempts(tmp_path / "run")) == []
        behaviour.fault = None
        completed = await command.carry_out("--resume")

    assert completed.status == 0, completed.stderr
    (attempt,) = completed.document["attempts"]
    assert (attempt["outcome"], attempt["try_number"]) == ("finished", 2)


async def test_an_agent_killed_from_outside_counts(home: Path, tmp_path: Path) -> None:
    waits = play(Turn(calls=(SUBMIT,)), Turn(calls=(shell_call("codex", WAITS),)))
    with (
        model_endpoint(waits) as model,
        run_command("codex", model.url, home, tmp_path / "run", *ONE) as command,
    ):
        status = await _disturbed(command, home, _kill_codex)

    ((record, _),) = finished_attempts(tmp_path / "run")
    assert (status, record.outcome) == (ExitStatus.DONE, "agent_killed")
    assert _programs(home) == {}


async def test_a_full_disk_loses_nothing_and_the_run_goes_on_when_there_is_room(
    home: Path, tmp_path: Path
) -> None:
    wide = Call("execute_sql", {"query": "SELECT * FROM drop_offs"})
    talks = play(*(Turn(calls=(wide,)) for _ in range(20)), Turn(calls=(SUBMIT,)))
    with (
        _small_disk(tmp_path / "disk", "200k") as disk,
        model_endpoint(talks) as model,
        run_command("codex", model.url, home, disk / "run", *ONE) as command,
    ):
        ended = await command.carry_out()
        assert ended.status in (ExitStatus.DATA, ExitStatus.PROGRAM)
        assert "the disk is full" in ended.stderr or "could not be recorded" in ended.stderr
        assert "a bug of ours" not in ended.stderr
        await anyio.run_process(["mount", "-o", "remount,size=50m", str(disk)])
        completed = await command.carry_out("--resume")

    assert completed.status == 0, completed.stderr
    assert completed.mode()["outcomes"] == {"finished": 1}
    assert _programs(home) == {}


async def _disturbed(
    command: RunCommand, home: Path, disturb: Callable[[int, dict[int, str]], None]
) -> int | None:
    """Do something to a run whose agent waits in its own shell; the run's exit status."""
    kept = OutputSink(1_000_000)
    status: int | None = None
    child = await start_child(command.arguments, env=command.environment)
    async with child, anyio.create_task_group() as tasks:
        tasks.start_soon(child.drain_stdout, kept)
        tasks.start_soon(child.drain_stderr, kept)
        with anyio.fail_after(180):
            while "tail" not in _programs(home).values():  # noqa: ASYNC110  # it gives no event
                await anyio.sleep(0.1)
            disturb(child.pid, _programs(home))
            status = await child.wait()
    return status


def _press_ctrl_c(runner: int, programs: dict[int, str]) -> None:
    os.kill(runner, signal.SIGINT)


def _kill_codex(runner: int, programs: dict[int, str]) -> None:
    """As a machine does that is out of memory: the native program, not npm's wrapper."""
    for pid, name in programs.items():
        if name == "codex":
            os.kill(pid, signal.SIGKILL)


def _programs(home: Path) -> dict[int, str]:
    """Programs that run in a cell of this home folder, by process id."""
    found: dict[int, str] = {}
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"HOME={home}/cells/".encode() in path.read_bytes():
                found[int(path.parent.name)] = path.with_name("comm").read_text().strip()
        except OSError:
            continue
    return found


@contextmanager
def _small_disk(folder: Path, size: str) -> Generator[Path]:
    """A file system of its own that is soon full."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder)], check=True
    )
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
