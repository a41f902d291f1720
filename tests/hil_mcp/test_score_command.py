"""`hil-mcp score`, through the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.main import main
from hil_mcp.counting import CountingRules
from hil_mcp.events import AgentInfo
from hil_mcp.judge_quality import JudgeQuality
from hil_mcp.modes import Mode
from hil_mcp.run_folder import (
    AttemptOutcome,
    AttemptRecord,
    LogHeadEntry,
    PlannedAttempt,
    RunConditions,
    RunRecord,
    write_record,
)
from hil_mcp.session import judge_info
from hil_mcp.session_reader import read_session
from hil_mcp.upstream_logs import task_and_pass
from tests.support.judges import FINGERPRINT
from tests.support.sessions import ask_all, question, write_log
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path


def _run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["score", *map(str, arguments)])
    return int(ended.value.code or 0)


def _json(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, Any]:
    status = _run(*arguments, "--json")
    return status, json.loads(capsys.readouterr().out)


async def test_a_session_is_scored_from_its_log_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask_all(tmp_path / "session.jsonl", ["a", None, "a", "b"])

    status, document = _json(capsys, tmp_path / "session.jsonl")

    assert status == ExitStatus.DONE
    assert (document["precision"], document["recall"]) == (0.5, pytest.approx(2 / 3))
    assert document["ask_f1"] == pytest.approx(4 / 7)
    assert document["n_questions"] == 4
    assert document["n_blockers_present"] == 3
    assert document["n_blockers_discovered"] == 2
    assert document["judge_errors"] == 0
    assert document["sessions"][0]["outcomes"] == {"answered": 2, "irrelevant": 1, "repeat": 1}
    assert document["scope"] == "these sessions only"


async def test_the_table_names_judge_rules_and_denominators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask_all(tmp_path / "session.jsonl", ["a"])

    assert _run(tmp_path / "session.jsonl") == ExitStatus.DONE

    shown = capsys.readouterr().out
    for part in ("scripted as-told", "rules release-2", "not the reference judge", "0.500"):
        assert part in shown
    assert "denominators: these sessions only" in shown


def _keep_quality(home: Path, **changes: object) -> JudgeQuality:
    kept: dict[str, object] = {
        "fingerprint": FINGERPRINT.digest,
        "precision": 0.96,
        "precision_interval": (0.9, 0.99),
        "recall": 0.86,
        "recall_interval": (0.8, 0.91),
        "f1": None,
        "f1_interval": None,
        "flip_rate": None,
        "n": 300,
        "failed": 0,
        "pairs": "pairs.jsonl",
        "pairs_digest": "d",
        "out_of_fold": True,
        "measured_at": datetime(2026, 1, 2, tzinfo=UTC),
    }
    quality = JudgeQuality.model_validate(kept | changes)
    folder = home / "judge-quality"
    folder.mkdir(parents=True)
    (folder / f"{FINGERPRINT.digest}.json").write_text(quality.model_dump_json())
    return quality


async def test_the_judge_s_kept_quality_stands_beside_the_score_and_in_no_figure(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask_all(tmp_path / "session.jsonl", ["a", None])
    _, before = _json(capsys, tmp_path / "session.jsonl")
    quality = _keep_quality(home)

    _, after = _json(capsys, tmp_path / "session.jsonl")
    _run(tmp_path / "session.jsonl")

    assert (before["judge_quality"], before["sets"][0]["judge_quality"]) == (None, None)
    assert JudgeQuality.model_validate(after["judge_quality"]) == quality
    assert after["sets"][0].pop("judge_quality") == after.pop("judge_quality")
    del before["judge_quality"], before["sets"][0]["judge_quality"]
    assert after == before
    assert (
        "\nthis judge: precision 0.960 [0.900, 0.990], recall 0.860 [0.800, 0.910], F1 undefined, "
        "on 300 pairs of pairs.jsonl, out of fold\n"
    ) in capsys.readouterr().out


async def test_a_judge_without_kept_quality_is_said_to_be_unmeasured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask_all(tmp_path / "session.jsonl", ["a"])

    _run(tmp_path / "session.jsonl")

    assert "this judge was not measured here" in capsys.readouterr().out


async def test_a_quality_kept_under_another_fingerprint_is_not_shown(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask_all(tmp_path / "session.jsonl", ["a"])
    _keep_quality(home, fingerprint="another")

    _, document = _json(capsys, tmp_path / "session.jsonl")

    assert document["judge_quality"] is None


async def test_a_quality_that_cannot_be_read_is_a_remark_and_the_score_stands(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "session.jsonl"
    await ask_all(log, ["a"])
    path = home / "judge-quality" / f"{FINGERPRINT.digest}.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")

    assert _run(log, "--json") == ExitStatus.DONE

    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["ask_f1"], document["judge_quality"]) == (0.5, None)
    assert f"{path}: cannot be read" in err
    assert _run(log, "--strict") == ExitStatus.DATA


async def test_a_torn_line_is_a_warning_and_with_strict_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = await write_log(tmp_path / "s.jsonl", [question(1, "a"), question(2, None)])
    with log.open("ab") as file:
        file.write(b'{"seq":3')

    assert _run(log) == ExitStatus.DONE
    assert "line 4 is incomplete" in capsys.readouterr().err
    assert _run(log, "--strict") == ExitStatus.DATA


async def test_a_damaged_log_has_no_headline_unless_told_to_skip(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = await write_log(tmp_path / "s.jsonl", [question(1, "a"), question(2, "b")])
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + lines[1] + b"garbage{{{\n" + lines[2])

    status, document = _json(capsys, log)
    assert (status, document["ask_f1"]) == (ExitStatus.DATA, None)
    assert "line 3" in document["errors"][0]

    status, document = _json(capsys, log, "--skip-bad-lines")
    assert (status, document["skipped_lines"]) == (ExitStatus.DONE, 1)
    assert (document["precision"], document["ask_f1"]) == (1.0, 0.8)


async def test_unequal_conditions_are_refused_one_number_and_scored_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    await ask_all(one, ["a"], rules=CountingRules.RELEASE_1)
    await ask_all(two, [None], rules=CountingRules.RELEASE_2)

    status, document = _json(capsys, one, two)

    assert (status, document["ask_f1"]) == (ExitStatus.DATA, None)
    assert "not put together" in document["refused"]
    assert [s["headline"]["ask_f1"] for s in document["sets"]] == [0.5, 0.0]


async def test_a_single_invalid_session_shows_its_count_all_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = await write_log(tmp_path / "s.jsonl", [question(1, "a"), question(2, "hiccup")])

    _, document = _json(capsys, log)

    assert (document["valid"], document["judge_errors"]) == (False, 1)
    assert (document["precision"], document["ask_f1"]) == (0.5, 0.4)


async def test_a_folder_of_sessions_is_scored_with_the_silent_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask_all(tmp_path / "x" / "session.jsonl", ["a", "b", "c"])
    await ask_all(tmp_path / "y" / "session.jsonl", [], task=make_task("a", "b", "c", "d"))

    _, document = _json(capsys, tmp_path)
    _run(tmp_path)

    assert (document["n_blockers_present"], document["ask_f1"]) == (7, 0.6)
    assert document["sets"][0]["silent_tasks"] == ["boats"]
    shown = capsys.readouterr().out
    assert "nobody asked in: boats" in shown
    assert "asking tasks only (as released)" in shown


async def test_csv_has_one_line_a_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask_all(tmp_path / "session.jsonl", ["a", None])

    _run(tmp_path / "session.jsonl", "--csv")

    header, row = capsys.readouterr().out.splitlines()
    values = dict(zip(header.split(","), row.split(","), strict=True))
    assert (values["task_id"], values["ask_f1"], values["n_questions"]) == ("boats", "0.4", "2")


def test_a_missing_file_and_an_empty_folder_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(tmp_path / "nowhere.jsonl", tmp_path) == ExitStatus.DATA

    shown = capsys.readouterr().err
    assert "nowhere.jsonl: cannot be read" in shown
    assert "no session.jsonl and no run.json in it" in shown


async def test_upstream_logs_round_trip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await ask_all(tmp_path / "in" / "x" / "session.jsonl", ["a", None], pass_number=2)
    _run(tmp_path / "in", "--upstream", tmp_path / "out")
    capsys.readouterr()

    _, document = _json(capsys, tmp_path / "out" / "ask_human_logs.json")

    assert (document["precision"], document["ask_f1"]) == (0.5, 0.4)
    (session,) = document["sessions"]
    assert (session["task_id"], session["pass_number"]) == ("boats", 2)


def _upstream_entry(**changes: object) -> dict[str, object]:
    entry: dict[str, object] = {
        "questions": [{"question": "Q?", "response": "res", "blocker_name": "a"}],
        "n_blockers": 3,
        "blockers": {"a": True, "b": False, "c": False},
        "precision": 1.0,
        "recall": 0.3333,
        "ask_f1": 0.5,
    }
    return entry | changes


def test_the_release_s_runner_log_gives_its_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ask_human_logs.json"
    path.write_text(json.dumps({"sql_1__m__ask_human__pass_10": _upstream_entry()}))

    _, document = _json(capsys, path)

    assert (document["precision"], document["ask_f1"]) == (1.0, 0.5)
    assert document["sessions"][0]["pass_number"] == 10


def test_questions_of_a_mode_that_cannot_ask_never_enter_the_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = _upstream_entry(
        questions=[{"question": "Q?", "response": "irrelevant question", "blocker_name": None}] * 2
    )
    path = tmp_path / "ask_human_logs.json"
    path.write_text(json.dumps({"t1__m__full_info__pass_1": entry}))

    _, document = _json(capsys, path)

    assert (document["ask_f1"], document["n_questions"]) == (None, 2)


def test_the_release_s_sidecar_log_gives_its_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ask_human_metrics.json"
    metrics = {
        "total_questions": 2,
        "blockers_resolved": 1,
        "n_blockers": 4,
        "precision": 0.5,
        "recall": 0.25,
        "f1": 0.3333,
        "questions": [
            {"question": "Q?", "response": "r", "blocker_name": "a"},
            {
                "question": "Q?",
                "response": "can't answer (perhaps transient hiccup)",
                "blocker_name": None,
            },
        ],
    }
    path.write_text(json.dumps(metrics))

    _, document = _json(capsys, path)

    assert document["ask_f1"] == pytest.approx(1 / 3)
    assert (document["judge_errors"], document["valid"]) == (1, False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps({"t1": _upstream_entry(ask_f1=0.8)}), "it says f1 0.8, its questions give 0.5"),
        (json.dumps({"t1": {"questions": 3, "n_blockers": 1}}), "t1.questions"),
        (json.dumps({"t1": {"n_blockers": 1}}), "t1.questions: field required"),
        ("[]", "neither a session log nor the release's"),
        ("{", "cannot be read as JSON"),
    ],
)
def test_a_foreign_file_that_does_not_add_up_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    path = tmp_path / "ask_human_logs.json"
    path.write_text(content)

    assert _run(path) == ExitStatus.DATA
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("instance_id", "expected"),
    [
        ("sql_1__m__ask_human__pass_1", ("sql_1", 1)),
        ("sql_1__m__ask_human__pass_10", ("sql_1", 10)),
        ("sql_10__m__ask_human__pass_1", ("sql_10", 1)),
        ("sql_10__m__ask_human", ("sql_10", 1)),
        ("sql_10", ("sql_10", 1)),
    ],
)
def test_an_instance_id_names_its_task_and_pass(
    instance_id: str, expected: tuple[str, int]
) -> None:
    assert task_and_pass(instance_id) == expected


async def _run_folder(folder: Path) -> Path:
    """A plan of four: scored, harness's fault, crashed before it could ask, and not yet run."""
    plan = tuple(
        PlannedAttempt(
            task_id=f"t{number}",
            task_digest="d",
            mode=Mode.ASK_HUMAN,
            pass_number=1,
            n_blockers=number,
        )
        for number in (3, 4, 5, 6)
    )
    conditions = RunConditions(
        judge=judge_info(FINGERPRINT),
        counting_rules=CountingRules.RELEASE_2,
        prompt_digest="prompt",
        isolation="none",
        agent=AgentInfo(name="scripted"),
        agent_settings={},
    )
    write_record(folder, RunRecord(run_id="r1", conditions=conditions, plan=plan))
    log = folder / "attempts" / "t3-1-2" / "session.jsonl"
    await ask_all(
        log,
        ["a", "b"],
        task=make_task("a", "b", "c", task_id="t3"),
        pass_number=1,
        isolation=conditions.isolation,
        agent=conditions.agent,
    )
    head = read_session(log).head
    outcomes: tuple[tuple[str, str, int, AttemptOutcome, LogHeadEntry | None], ...] = (
        ("t3-1-1", "t3", 1, "harness_error", None),
        ("t3-1-2", "t3", 2, "finished", LogHeadEntry(seq=head.seq, sha256=head.sha256)),
        ("t4-1-1", "t4", 1, "no_tools", None),
        ("t5-1-1", "t5", 1, "agent_crashed", None),
    )
    for attempt_id, task_id, number, outcome, log_head in outcomes:
        record = AttemptRecord(
            attempt_id=attempt_id,
            task_id=task_id,
            mode=Mode.ASK_HUMAN,
            pass_number=1,
            try_number=number,
            outcome=outcome,
            log_head=log_head,
        )
        write_record(folder / "attempts" / attempt_id, record)
    return folder


async def test_a_run_s_denominators_come_from_its_plan_and_what_is_left_out_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = await _run_folder(tmp_path / "run")

    _, document = _json(capsys, folder)
    _run(folder)

    assert document["scope"] == "run"
    # q = 2 and 0, d = 2, b = 3 and 5: the agent that crashed counts, the harness's fault does not.
    assert (document["precision"], document["recall"], document["ask_f1"]) == (1.0, 0.25, 0.4)
    assert [s["task_id"] for s in document["sessions"]] == ["t3", "t5"]
    assert [m["task_id"] for m in document["missing"]] == ["t6"]
    assert [(h["task_id"], h["why"]) for h in document["harness"]] == [("t4", "no_tools")]
    assert "missing: t6 ask_human pass 1: no attempt yet" in capsys.readouterr().out


async def test_a_log_changed_after_its_attempt_was_closed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = await _run_folder(tmp_path / "run")
    log = folder / "attempts" / "t3-1-2" / "session.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))

    assert _run(folder) == ExitStatus.DATA
    assert "changed after the attempt was closed" in capsys.readouterr().err


async def test_a_run_record_that_cannot_be_read_is_named_by_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = await _run_folder(tmp_path / "run")
    attempt = folder / "attempts" / "t4-1-1" / "attempt.json"
    attempt.write_text(attempt.read_text().replace("no_tools", "bored"))

    assert _run(folder) == ExitStatus.DATA
    assert "attempt.json: outcome" in capsys.readouterr().err
