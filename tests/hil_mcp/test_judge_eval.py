"""`hil-mcp judge eval`: what is kept, what is told of failures, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from hil_mcp.cli.exit_status import ExitStatus
from task_store.store import TaskStore
from tests.support.command_line import run_main
from tests.support.endpoints import MODEL, verdict_text
from tests.support.judge_server import judge_server
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.judge_server import Answer


@pytest.fixture
def pairs(home: Path, tmp_path: Path) -> Path:
    """Six pairs of one task of the catalogue."""
    TaskStore(home).add(make_task("tide", "berth", task_id="boats"))
    path = tmp_path / "pairs.jsonl"
    _write_pairs(path, 6)
    return path


def _write_pairs(path: Path, n: int) -> None:
    rows = [
        {"task": "boats", "question": f"Which is it, {k}?", "expected": "tide", "kind": "own"}
        for k in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _matches(number: int) -> Answer:
    return 200, verdict_text("B1")


def _vllm(address: str) -> tuple[str, ...]:
    return "--judge", "vllm", "--url", address, "--model", MODEL


def test_an_evaluation_in_which_the_judge_failed_replaces_no_kept_figures(
    pairs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def locked_out_after_two(number: int) -> Answer:
        return _matches(number) if number <= 8 else (401, "no such key")

    with judge_server(locked_out_after_two) as server:
        command = ("judge", "eval", str(pairs), "--store", *_vllm(server.url))
        good, _, _ = run_main(capsys, *command)
        (kept,) = (home / "judge-quality").iterdir()
        before = kept.read_bytes()
        bad, out, err = run_main(capsys, *command)

    assert (good, bad) == (ExitStatus.DONE, ExitStatus.JUDGE)
    assert kept.read_bytes() == before
    assert "2 pairs, 4 without a verdict" in out
    assert err == "hil-mcp: not kept: the judge failed on 4 of 6 questions\n"


def test_why_and_where_the_judge_failed_is_told(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(number: int) -> Answer:
        return _matches(number) if number < 3 else (400, "no room" if number == 3 else "gone")

    with judge_server(fails) as server:
        command = ("judge", "eval", str(pairs), "--concurrency", "1", *_vllm(server.url))
        status, out, _ = run_main(capsys, *command)
    with judge_server(fails) as server:
        command = ("judge", "eval", str(pairs), "--concurrency", "1", *_vllm(server.url))
        _, document, _ = run_main(capsys, *command, "--json")

    assert status == ExitStatus.JUDGE
    often, once = [line for line in out.splitlines() if line.startswith("failures: ")]
    assert often.startswith("failures: 3, first pair 4, task boats, 'Which is it, 3?': http: ")
    assert "gone" in often
    assert once.startswith("failures: 1, first pair 3, task boats, 'Which is it, 2?': http: ")
    failures = json.loads(document)["failures"]
    assert [(one["task"], one["question"], one["class"]) for one in failures] == [
        ("boats", f"Which is it, {k}?", "http") for k in (2, 3, 4, 5)
    ]
    assert "no room" in failures[0]["cause"]


def test_figures_of_fewer_pairs_do_not_replace_those_of_more(
    pairs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("judge", "eval", str(pairs), "--store")
    run_main(capsys, *command)
    (kept,) = (home / "judge-quality").iterdir()
    _write_pairs(pairs, 5)

    status, out, err = run_main(capsys, *command)

    assert status == ExitStatus.DATA
    assert "precision" in out
    assert err == (
        f"hil-mcp: not kept: {kept} is of 6 pairs (pairs.jsonl) and this of 5: "
        "delete it to keep this one\n"
    )
    kept.unlink()
    assert run_main(capsys, *command)[0] == ExitStatus.DONE


def test_kept_figures_that_cannot_be_read_are_replaced(
    pairs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("judge", "eval", str(pairs), "--store")
    run_main(capsys, *command)
    (kept,) = (home / "judge-quality").iterdir()
    kept.write_text("{", encoding="utf-8")

    assert run_main(capsys, *command)[0] == ExitStatus.DONE
    assert json.loads(kept.read_text(encoding="utf-8"))["n"] == 6


def test_figures_are_shown_though_they_can_be_neither_kept_nor_drawn(
    pairs: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "plot.svg"

    def in_the_way(number: int) -> Answer:
        plot.mkdir(exist_ok=True)
        return 400, "it fell over"

    run_main(capsys, "judge", "eval", str(pairs), "--store")
    (kept,) = (home / "judge-quality").iterdir()
    kept.unlink()
    (kept / "in the way").mkdir(parents=True)

    status, out, err = run_main(capsys, "judge", "eval", str(pairs), "--store", "--json")
    assert (status, json.loads(out)["n"]) == (ExitStatus.DATA, 6)
    assert err.startswith(f"hil-mcp: {kept}: cannot be written: ")
    with judge_server(in_the_way) as server:
        status, out, err = run_main(
            capsys, "judge", "eval", str(pairs), "--plot", str(plot), "--json", *_vllm(server.url)
        )

    assert (status, json.loads(out)["failed"]) == (ExitStatus.JUDGE, 6)
    assert err.startswith(f"hil-mcp: --plot {plot}: cannot be written: ")
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


@pytest.mark.parametrize("name", ["none/plot.svg", "plot.png", "folder.svg", "pairs.jsonl/p.svg"])
def test_a_plot_that_could_not_be_written_is_told_before_the_first_question(
    name: str, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.svg").mkdir()
    asked: list[int] = []

    def note(number: int) -> Answer:
        asked.append(number)
        return _matches(number)

    with judge_server(note) as server:
        plot = tmp_path / name
        status, out, err = run_main(
            capsys, "judge", "eval", str(pairs), "--plot", str(plot), *_vllm(server.url)
        )

    assert (status, out, asked) == (ExitStatus.USAGE, "", [])
    assert err.startswith(f"hil-mcp: --plot {plot}: ")


def test_a_folder_that_cannot_be_made_is_told_before_the_first_question(
    pairs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home / "judge-quality"
    folder.write_text("in the way", encoding="utf-8")

    with judge_server() as server:
        status, out, err = run_main(
            capsys, "judge", "eval", str(pairs), "--store", *_vllm(server.url)
        )

    assert (status, out) == (ExitStatus.DATA, "")
    assert err.startswith(f"hil-mcp: {folder}: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_how_far_it_came(
    number: signal.Signals, pairs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended_at_the_third(n: int) -> Answer:
        if n == 3:
            os.kill(os.getpid(), number)
        return _matches(n) if n < 3 else (500, "too late")

    with judge_server(ended_at_the_third) as server:
        status, out, err = run_main(
            capsys,
            *("judge", "eval", str(pairs), "--store", "--concurrency", "1", *_vllm(server.url)),
        )

    assert (status, out) == (ExitStatus.INTERRUPTED, "")
    assert err == "interrupted after 2 of 6 answers: no figures, and nothing is kept\n"
    assert list((home / "judge-quality").iterdir()) == []


def test_a_server_is_asked_no_more_questions_at_a_time_than_wanted(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = threading.Semaphore(2)

    def refuses_a_third_at_a_time(number: int) -> Answer:
        if not places.acquire(blocking=False):
            return 400, "too many at a time"
        try:
            together.wait(timeout=5)
        finally:
            places.release()
        return _matches(number)

    together = threading.Barrier(2)  # each question is answered when another is there
    with judge_server(refuses_a_third_at_a_time) as server:
        command = ("judge", "eval", str(pairs), "--json", *_vllm(server.url))
        status, out, _ = run_main(capsys, *command, "--concurrency", "2")

    assert (status, json.loads(out)["failed"]) == (ExitStatus.DONE, 0)
