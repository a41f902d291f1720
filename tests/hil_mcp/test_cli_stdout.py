"""Results on a stdout that is not made for them: ASCII alone, full, closed, or read by nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hil_mcp.cli.exit_status import ExitStatus
from task_store.store import TaskStore
from tests.support.endpoints import MODEL, verdict_text
from tests.support.judge_server import judge_server
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
_QUESTION = "Wie spät ist \N{LATIN SMALL LETTER E WITH ACUTE}s?"


def _command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "hil_mcp", *argv]


def _environment(home: Path, more: Mapping[str, str] = {}) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HIL_MCP_HOME": str(home), **more}


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("variables", [{}, _ASCII], ids=["utf-8", "ascii"])
def test_any_text_of_a_model_can_be_printed(
    *, variables: dict[str, str], as_json: bool, home: Path, tmp_path: Path
) -> None:
    TaskStore(home).add(make_task("tide", task_id="boats"))
    pairs = tmp_path / "pairs.jsonl"
    row = {"task": "boats", "question": _QUESTION, "expected": None, "kind": "own"}
    pairs.write_text(json.dumps(row), encoding="utf-8")

    with judge_server(lambda _: (200, verdict_text("B1", "bad \ud800 half"))) as server:
        judge = ("--judge", "vllm", "--url", server.url, "--model", MODEL)
        done = subprocess.run(
            _command("judge", "eval", str(pairs), *judge, *(["--json"] if as_json else [])),
            env=_environment(home, variables),
            capture_output=True,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stderr) == (ExitStatus.DONE, b"")
    if as_json:
        (row,) = json.loads(done.stdout)["disagreements"]
        assert (row["question"], row["reason"]) == (_QUESTION, "bad ? half")
    else:
        assert "Wie sp" in done.stdout.decode("ascii" if variables else "utf-8")


@pytest.mark.parametrize("variables", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["", "unbuffered"])
@pytest.mark.parametrize("argv", [("tasks", "list", "--json"), ("tasks", "list"), ("--version",)])
def test_a_stdout_that_is_full_is_told_in_one_line(
    argv: tuple[str, ...], variables: dict[str, str], home: Path
) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            _command(*argv),
            env=_environment(home, variables),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )

    assert done.returncode == ExitStatus.DATA
    assert done.stderr == b"hil-mcp: stdout: cannot be written: No space left on device\n"


@pytest.mark.parametrize("argv", [("tasks", "list", "--json"), ("tasks", "list"), ("--version",)])
def test_a_stdout_that_nobody_reads_any_more_ends_the_command_quietly(
    argv: tuple[str, ...], home: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            _command(*argv),
            env=_environment(home),
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stderr) == (ExitStatus.INTERRUPTED, b"")


@pytest.mark.parametrize("argv", [("tasks", "list", "--json"), ("tasks", "list"), ("--version",)])
def test_a_stdout_that_is_closed_is_no_failure(argv: tuple[str, ...], home: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *_command(*argv)],
        env=_environment(home),
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (ExitStatus.DONE, b"")
