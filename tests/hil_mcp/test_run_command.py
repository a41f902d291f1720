"""`hil-mcp run` on the command line: what it refuses, and how it tells of a run."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from clients import table
from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.main import main
from tests.support.endpoints import MODEL
from tests.support.judge_server import judge_server
from tests.support.scripted_model import Call, Fault, Turn, after_faults, model_endpoint, play
from tests.support.small_client import KEY_VARIABLE, SMALL_AGENT, install_small_agent

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = ("--agent", "codex", "--tasks", "lockers_late", "--judge", "embedded")
SUBMITS = play(Turn(calls=(Call("submit_sql", {"query": "SELECT 1"}),)))


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["run", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """A run of the small agent, which the table of agents knows for the time of a test."""
    monkeypatch.setattr(table, "CLIENTS", (*table.CLIENTS, SMALL_AGENT))
    monkeypatch.setenv(KEY_VARIABLE, "the-real-key")
    monkeypatch.setenv("HIL_MCP_SANDBOX", "local")
    return (
        *("--agent", "small-agent", "--program", str(install_small_agent(tmp_path))),
        *("--tasks", "lockers_late", "--modes", "baseline", "--judge", "embedded"),
        *("--model", "scripted", "--isolation", "none", "--max-tries", "1"),
        *("--out", str(tmp_path / "run")),
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--modes", "baseline,sideways"), "unknown mode 'sideways'"),
        (("--modes", " , "), "--modes: names nothing"),
        (("--isolation", "glass"), "none of bubblewrap, user:NAME, none"),
        (("--isolation", "user"), "none of bubblewrap, user:NAME, none"),
        (("--max-cost", "3"), "--max-cost needs --price"),
        (("--price", "cheap"), "not IN:OUT"),
        (("--price", "3:-1"), "not IN:OUT"),
        (("--resume",), "--resume needs --out"),
        (("--tasks", "nowhere"), "unknown task 'nowhere'"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(
    arguments: tuple[str, ...],
    said: str,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    program = install_small_agent(tmp_path)

    status = _run(*RIGHT, "--program", str(program), *arguments)

    shown = capsys.readouterr()
    assert status == ExitStatus.USAGE
    assert said in shown.err
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert not (home / "runs").exists()


@pytest.mark.parametrize("left_out", ["--agent", "--tasks", "--judge"])
def test_what_has_to_be_said_is_asked_for(
    left_out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = zip(RIGHT[::2], RIGHT[1::2], strict=True)

    status = _run(*(word for pair in pairs if pair[0] != left_out for word in pair))

    assert status == ExitStatus.USAGE
    assert left_out in capsys.readouterr().err


def test_a_run_ends_with_a_table_and_tells_of_each_attempt(
    small: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with model_endpoint(SUBMITS) as model:
        status = _run(*small, "--base-url", model.url)

    shown = capsys.readouterr()
    assert status == ExitStatus.DONE
    assert "lockers_late-baseline-small-agent-p1-t1: finished: wrong" in shown.err
    assert "1/1 done, 0 running, 0 resolved, 0 questions" in shown.err
    rows = [line.strip("│").split("│") for line in shown.out.split("\n") if line.startswith("│")]
    figures = {name.strip(): figure.strip() for name, figure in rows}
    assert (figures["planned"], figures["counted"], figures["resolved"]) == ("1", "1", "0")
    assert (figures["share resolved"], figures["Ask-F1"], figures["turns"]) == ("0.000", "-", "2")
    assert "these figures are no measurement" in shown.out
    assert str(tmp_path / "run") in shown.out


def test_a_run_that_the_endpoint_failed_says_so_and_is_resumed(
    small: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with model_endpoint(after_faults(Fault(status=503), then=SUBMITS)) as model:
        first = _run(*small, "--base-url", model.url)
        shown = capsys.readouterr()
        second = _run(*small, "--base-url", model.url, "--resume", "--json")
    document = json.loads(capsys.readouterr().out)

    assert (first, second) == (ExitStatus.PROGRAM, ExitStatus.DONE)
    assert "harness: lockers_late baseline pass 1: model_error" in shown.out
    assert "1 failed by the harness" in shown.err
    assert document["n_tries_by_outcome"] == {"model_error": 1, "finished": 1}
    assert document["modes"][0]["n_counted"] == 1


def test_a_run_that_only_the_judge_kept_from_its_end_has_the_judges_status(
    small: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asks = play(Turn(calls=(Call("ask_human", {"question": "Which lockers count as late?"}),)))
    changed = {"--modes": "ask_human", "--judge": "vllm"}
    arguments = [changed.get(before, word) for before, word in pairwise(("", *small))]
    monkeypatch.setenv("HIL_MCP_JUDGE_MODEL", MODEL)

    with judge_server() as judge, model_endpoint(asks) as model:
        monkeypatch.setenv("HIL_MCP_JUDGE_URL", judge.url)
        status = _run(*arguments, "--base-url", model.url, "--json")

    document = json.loads(capsys.readouterr().out)
    assert status == ExitStatus.JUDGE
    assert document["n_tries_by_outcome"] == {"judge_error": 1}
