"""Whole runs of a small agent, in process: what is on disk afterwards, and what it adds up to."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clients.process import run_child
from clients.run_client import headless_of
from hil_mcp.cli.run_tables import run_document
from hil_mcp.errors import IsolationError
from hil_mcp.modes import Mode
from hil_mcp.run_folder import finished_attempts, read_run
from hil_mcp.runs.model_traffic import Limits, Price
from hil_mcp.settings import child_environment
from task_store.store import TaskStore
from tests.support.behaviours import MODES, N_PASSES, TASKS, TwelveWays, expected
from tests.support.processes import is_running
from tests.support.runs import LIMITS, Seen, carry_out, resumed, run_options
from tests.support.scripted_model import (
    Call,
    Fault,
    Turn,
    Usage,
    after_faults,
    model_endpoint,
    play,
)
from tests.support.small_client import KEY_VARIABLE, SMALL_AGENT, install_small_agent

if TYPE_CHECKING:
    from pathlib import Path

    from clients.client import Finished, Job, Launch
    from clients.transcript import Transcript
    from hil_mcp.run_folder import AttemptRecord
    from tests.support.scripted_model import Behaviour

KEY = "the-real-key"
SUBMIT = Call("submit_sql", {"query": "SELECT 1"})
SUBMITS = play(Turn(calls=(SUBMIT,)))


@pytest.fixture(scope="module")
def rule_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tasks' rules are embedded once, not once a test."""
    return tmp_path_factory.mktemp("rule-vectors")


@pytest.fixture
def program(
    tmp_path: Path, home: Path, rule_vectors: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    home.mkdir()
    (home / "rule-vectors").symlink_to(rule_vectors)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    return install_small_agent(tmp_path)


def _crash() -> Turn:
    return Turn(calls=(Call("shell", {"command": "kill -9 $PPID"}),))


async def _one(
    program: Path, folder: Path, behaviour: Behaviour, **limits: object
) -> AttemptRecord:
    """The record of a run of one attempt."""
    with model_endpoint(behaviour) as model:
        options = run_options(program, folder, model.url)
        await carry_out(replace(options, limits=replace(LIMITS, **limits)))  # pyright: ignore[reportArgumentType]
    ((record, _),) = finished_attempts(folder)
    return record


async def test_every_number_of_a_run_is_the_one_worked_out_by_hand(
    program: Path, tmp_path: Path, home: Path
) -> None:
    store = TaskStore(home)
    numbers = expected(len(store.get(TASKS[0]).registry.blockers))
    with model_endpoint(TwelveWays(store, _crash)) as model:
        options = run_options(program, tmp_path / "run", model.url)
        summary = await carry_out(
            replace(options, tasks=TASKS, modes=MODES, n_passes=N_PASSES, n_workers=2)
        )

    assert summary.is_complete
    assert {request.key for request in model.requests} == {KEY}
    blockers = sum(len(store.get(task).registry.blockers) for task in TASKS) * N_PASSES
    for mode in summary.modes:
        wanted = numbers[mode.mode]
        assert (mode.n_planned, len(mode.counted)) == (4, 4)
        assert mode.outcomes == wanted.outcomes
        assert mode.n_resolved == wanted.resolved
        figures = mode.figures
        assert (figures.n_questions, figures.n_blockers_discovered) == (wanted.q, wanted.d)
        if mode.mode.can_ask:
            assert figures.n_blockers_present == blockers
            assert figures.precision == pytest.approx(wanted.d / wanted.q)
            assert figures.ask_f1 == pytest.approx(2 * wanted.d / (wanted.q + blockers))
        else:
            assert figures.ask_f1 is None


async def test_an_attempt_s_folder_holds_all_that_came_of_it(program: Path, tmp_path: Path) -> None:
    record = await _one(
        program,
        tmp_path / "run",
        SUBMITS,
        model=Limits(price=Price(input_usd=1_000, output_usd=2_000)),
    )

    folder = tmp_path / "run" / "attempts" / record.attempt_id
    assert sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock")) == [
        *("attempt.json", "grades.jsonl", "prompt.txt", "session.jsonl", "stderr.txt"),
        *("submission.sql", "transcript.jsonl"),
    ]
    assert (folder / "submission.sql").read_text() == "SELECT 1"
    assert (record.outcome, record.exit_status, record.try_number) == ("finished", 0, 1)
    # Two answers of 100 tokens in and 20 out.
    assert (record.turns, record.input_tokens, record.output_tokens) == (2, 200, 40)
    assert record.cost_usd == pytest.approx(0.28)
    assert (record.tool_calls, record.ask_calls, record.n_questions) == (1, 0, 0)
    assert KEY not in "".join(path.read_text() for path in folder.iterdir())
    assert not list((tmp_path / "home" / "cells").iterdir())


async def test_a_run_is_resumed_with_what_is_missing_and_what_the_harness_failed(
    program: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    behaviour = after_faults(Fault(status=500), then=SUBMITS)
    with model_endpoint(behaviour) as model:
        options = replace(run_options(program, folder, model.url), n_passes=2)
        first = await carry_out(options)
        watcher = Seen()
        second = await carry_out(resumed(options), watcher=watcher)

    assert [len(mode.counted) for mode in first.modes] == [1]
    assert [mode.n_harness for mode in first.modes] == [1]
    assert second.is_complete
    assert [planned.pass_number for planned in watcher.begun] == [1]
    assert Counter(record.outcome for record, _ in finished_attempts(folder)) == {
        "model_error": 1,
        "finished": 2,
    }


async def test_an_attempt_that_was_interrupted_is_made_again_under_another_number(
    program: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with model_endpoint(SUBMITS) as model:
        options = run_options(program, folder, model.url)
        await carry_out(options)
        ((record, path),) = finished_attempts(folder)
        (path / "attempt.json").unlink()
        summary = await carry_out(resumed(options))

    assert summary.is_complete
    assert (record.try_number, summary.tries[-1].try_number) == (1, 2)
    assert (path / "session.jsonl").exists()


@pytest.mark.parametrize("status", [401, 503])
async def test_an_endpoint_that_refuses_or_fails_is_excluded_and_tried_again(
    status: int, program: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    failing = after_faults(Fault(status=status), then=SUBMITS)
    with model_endpoint(failing) as model:
        summary = await carry_out(run_options(program, folder, model.url), max_tries=2)

    assert [record.outcome for record in summary.tries] == ["model_error", "finished"]
    assert summary.is_complete


async def test_an_endpoint_that_hangs_is_not_the_agent_s_doing(
    program: Path, tmp_path: Path
) -> None:
    record = await _one(program, tmp_path / "run", play(Turn(delay_s=60.0)), model_timeout_s=0.5)

    assert record.outcome == "model_error"


async def test_an_endpoint_that_is_not_there_ends_the_run_before_all_attempts_are_wasted(
    program: Path, tmp_path: Path
) -> None:
    with model_endpoint(SUBMITS) as model:
        address = model.url
    summary = await carry_out(
        replace(run_options(program, tmp_path / "run", address), n_passes=20), max_tries=3
    )

    assert [record.outcome for record in summary.tries] == ["model_error"] * 5
    assert [mode.n_missing for mode in summary.modes] == [15]


async def test_an_agent_that_waits_for_ever_is_ended(program: Path, tmp_path: Path) -> None:
    waits = play(Turn(calls=(Call("shell", {"command": "sleep 600"}),)))

    record = await _one(program, tmp_path / "run", waits, idle_limit_s=1.0)

    assert (record.outcome, record.exit_status) == ("agent_looped", None)


async def test_an_agent_that_works_without_end_is_ended_by_the_clock(
    program: Path, tmp_path: Path
) -> None:
    look = Call("get_database_info", {"database_name": "lockers"})
    record = await _one(
        program, tmp_path / "run", play(then=Turn(calls=(look,), delay_s=0.2)), time_limit_s=2.0
    )

    assert record.outcome == "time_limit"


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [
        (Limits(max_turns=3), "turn_limit"),
        (Limits(max_requests=3), "agent_looped"),
        (
            Limits(max_cost_usd=1.0, price=Price(input_usd=4_000, output_usd=0)),
            "money_limit",
        ),
    ],
)
async def test_a_limit_ends_an_agent_that_goes_on_and_on(
    limit: Limits, outcome: str, program: Path, tmp_path: Path
) -> None:
    look = Call("get_database_info", {"database_name": "lockers"})

    record = await _one(program, tmp_path / "run", play(then=Turn(calls=(look,))), model=limit)

    assert record.outcome == outcome
    assert record.turns == 3


async def test_what_an_agent_left_running_is_ended_with_it(program: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    leaves = f"setsid sleep 600 >/dev/null 2>&1 & echo $! >{pid_file}"
    behaviour = play(Turn(calls=(Call("shell", {"command": leaves}), SUBMIT)))

    record = await _one(program, tmp_path / "run", behaviour)

    assert record.outcome == "finished"
    assert not is_running(int(pid_file.read_text()))


async def test_questions_asked_by_hand_count_and_are_flagged(program: Path, tmp_path: Path) -> None:
    by_hand = (
        'python3 -c "import json, os, urllib.request as u; s = json.loads(os.environ['
        "'SMALL_AGENT']); u.urlopen(u.Request(s['url'], json.dumps({'jsonrpc': '2.0', 'id': 1,"
        " 'method': 'tools/call', 'params': {'name': 'ask_human', 'arguments': {'question':"
        " 'What is late?'}}}).encode(), {'Content-Type': 'application/json', 'Accept':"
        " 'application/json, text/event-stream', 'Authorization': 'Bearer ' +"
        " os.environ[s['token_variable']]})).read()\""
    )
    behaviour = play(Turn(calls=(Call("shell", {"command": by_hand}), SUBMIT)))

    with model_endpoint(behaviour) as model:
        options = run_options(program, tmp_path / "run", model.url)
        await carry_out(replace(options, modes=(Mode.ASK_HUMAN,)))
    ((record, _),) = finished_attempts(tmp_path / "run")

    assert (record.outcome, record.flags) == ("finished", ("out_of_band_calls",))
    assert (record.n_questions, record.ask_calls) == (1, 0)


async def test_a_repository_task_is_run_and_graded_too(program: Path, tmp_path: Path) -> None:
    writes = Call("run_command", {"command": "echo wrong >NOTES"})
    behaviour = play(Turn(calls=(writes,)), Turn(calls=(Call("submit_patch"),)))
    with model_endpoint(behaviour) as model:
        options = run_options(program, tmp_path / "run", model.url)
        summary = await carry_out(replace(options, tasks=("backup_prune",)))

    (mode,) = summary.modes
    (counted,) = mode.counted
    assert (counted.record.outcome, counted.is_right) == ("finished", False)
    folder = tmp_path / "run" / "attempts" / counted.record.attempt_id
    assert "+wrong" in (folder / "submission.patch").read_text()


async def test_an_agent_that_could_read_the_answers_is_never_launched(
    program: Path, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("running as another user needs root")
    with model_endpoint(SUBMITS) as model:
        options = run_options(program, tmp_path / "run", model.url)
        with pytest.raises(IsolationError, match="the agent can get at"):
            await carry_out(replace(options, isolation="user", isolation_user="nobody"))

    assert model.requests == []
    assert list(finished_attempts(tmp_path / "run")) == []


async def test_a_run_whose_ports_are_taken_is_completed_when_they_are_free(
    program: Path, tmp_path: Path
) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("a network of one's own needs unshare, and root")
    script = ("-m", "tests.support.crowded_ports", str(program), str(tmp_path / "run"))

    result = await run_child(
        [unshare, "-n", sys.executable, *script],
        env=child_environment({}),
        timeout_s=120,
        limit_bytes=100_000,
    )

    crowded, free = result.stdout.data.decode().splitlines()
    assert crowded.startswith("harness_error no port of 127.0.0.1 is free")
    assert free == "harness_error finished"


class _Unreadable:
    """The small agent, whose output nobody can read."""

    program = "small-agent"
    endpoint = None
    login = headless_of(SMALL_AGENT).login

    def launch(self, job: Job) -> Launch:
        return headless_of(SMALL_AGENT).launch(job)

    def read(self, finished: Finished) -> Transcript:
        raise ZeroDivisionError("a secret of the task")


async def test_an_attempt_that_breaks_our_own_code_does_not_end_the_run(
    program: Path, tmp_path: Path
) -> None:
    with model_endpoint(SUBMITS) as model:
        options = run_options(program, tmp_path / "run", model.url)
        client = replace(SMALL_AGENT, headless=_Unreadable())
        summary = await carry_out(replace(options, client=client, n_passes=2))

    assert [record.outcome for record in summary.tries] == ["harness_error"] * 2
    assert "a bug of ours (ZeroDivisionError)" in summary.tries[0].detail
    assert "secret" not in summary.tries[0].detail


async def test_the_document_holds_the_conditions_and_every_attempt(
    program: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with model_endpoint(SUBMITS, usage=Usage(input_tokens=7, output_tokens=1)) as model:
        summary = await carry_out(run_options(program, folder, model.url))

    document = run_document(summary, folder)

    assert document["conditions"] == read_run(folder).conditions.model_dump(mode="json")
    assert document["complete"] is True
    assert document["n_tries_by_outcome"] == {"finished": 1}
    attempts = json.loads(json.dumps(document["attempts"]))
    kept = [(each["outcome"], each["right"], each["resolved"]) for each in attempts]
    assert kept == [("finished", False, False)]
