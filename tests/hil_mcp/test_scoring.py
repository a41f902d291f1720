"""Ask-F1 from logs: every number here is worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hil_mcp.counting import CountingRules
from hil_mcp.events import Delivery, EventBody, QuestionStarted
from hil_mcp.modes import Mode
from hil_mcp.scoring import SessionScore, SetScore, score_session, score_sets
from hil_mcp.session_reader import read_session
from tests.support.judges import FINGERPRINT, ScriptedJudge, hiccup
from tests.support.sessions import ask_all, make_session, question, write_log
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from judge.verdict import JudgeFingerprint


def _blockers(count: int) -> tuple[str, ...]:
    return tuple("abcdefgh"[:count])


async def _score(
    path: Path, n_blockers: int, bodies: Sequence[EventBody], task_id: str = "t1"
) -> SessionScore:
    task = make_task(*_blockers(n_blockers), task_id=task_id)
    return score_session(
        read_session(await write_log(path / f"{task_id}.jsonl", bodies, task=task))
    )


def _figures(score: SessionScore) -> tuple[float | None, float | None, float | None]:
    figures = score.figures
    return figures.precision, figures.recall, figures.ask_f1


async def test_two_of_four_questions_discover_two_of_four_blockers(tmp_path: Path) -> None:
    events = [question(n, b) for n, b in enumerate(["a", None, "b", None], start=1)]

    score = await _score(tmp_path, 4, events)

    assert _figures(score) == (0.5, 0.5, 0.5)


async def test_repeats_cost_precision_and_discover_nothing(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    await ask_all(log, ["a", "a", "a"], rules=CountingRules.PAPER)

    score = score_session(read_session(log))

    assert _figures(score) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert score.outcomes == {"answered": 1, "repeat": 2}


async def test_silence_scores_zero_and_has_no_precision(tmp_path: Path) -> None:
    score = await _score(tmp_path, 3, [])

    assert _figures(score) == (None, 0.0, 0.0)


async def test_a_silent_task_stays_in_the_denominators(tmp_path: Path) -> None:
    asked = await _score(tmp_path, 3, [question(n, b) for n, b in enumerate("abc", start=1)])
    silent = await _score(tmp_path, 4, [], task_id="t2")

    (one,) = score_sets([asked, silent])

    assert one.headline.n_blockers_present == 7
    assert (one.headline.precision, one.headline.ask_f1) == (1.0, 0.6)
    assert one.headline.recall == pytest.approx(3 / 7)
    assert one.silent_tasks == ("t2",)
    assert one.asking_only is not None
    assert (one.asking_only.recall, one.asking_only.ask_f1) == (1.0, 1.0)


async def test_a_set_in_which_nobody_asked_has_no_precision_and_scores_zero(tmp_path: Path) -> None:
    scores = [await _score(tmp_path, 3, []), await _score(tmp_path, 5, [], task_id="t2")]

    (one,) = score_sets(scores)

    assert one.headline.n_blockers_present == 8
    assert (one.headline.precision, one.headline.recall, one.headline.ask_f1) == (None, 0.0, 0.0)
    assert one.macro_ask_f1 == 0.0
    assert one.asking_only is None


async def test_micro_and_macro_differ_and_stand_side_by_side(tmp_path: Path) -> None:
    first = await _score(tmp_path, 3, [question(1, "a")])
    events = [question(n, b) for n, b in enumerate([*"abc", *[None] * 6], start=1)]
    second = await _score(tmp_path, 5, events, task_id="t2")

    (one,) = score_sets([first, second])

    assert (one.headline.precision, one.headline.recall) == (0.4, 0.5)
    assert one.headline.ask_f1 == pytest.approx(0.444444, abs=1e-6)
    assert one.macro_ask_f1 == pytest.approx(0.464286, abs=1e-6)


async def test_a_failed_judgement_counts_as_a_question_and_makes_the_session_invalid(
    tmp_path: Path,
) -> None:
    events = [question(n, b) for n, b in enumerate([*"abc", "hiccup", "hiccup"], start=1)]

    score = await _score(tmp_path, 4, events)
    (one,) = score_sets([score])

    assert _figures(score) == pytest.approx((0.6, 0.75, 0.666667), abs=1e-6)
    assert (score.judge_errors, score.is_valid) == (2, False)
    assert one.n_valid == 0
    assert one.headline.ask_f1 is None
    assert one.count_all.ask_f1 == pytest.approx(0.666667, abs=1e-6)


class _Changed(ScriptedJudge):
    """Goes by another name than that of its verdicts."""

    @property
    def fingerprint(self) -> JudgeFingerprint:
        return replace(FINGERPRINT, model="the one before")


async def test_verdicts_of_another_judge_than_the_session_s_are_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    session = make_session(log, _Changed(["a", None, hiccup("timeout")]))
    await session.begin()
    for thing in ("a", "b", "c"):
        await session.ask(f"Which {thing}?", meta={})
    await session.close("disconnected")

    (warning,) = score_session(read_session(log)).warnings

    assert "2 of 2 verdicts have another judge's fingerprint" in warning


async def test_a_question_lost_with_the_server_makes_the_session_invalid(tmp_path: Path) -> None:
    score = await _score(tmp_path, 3, [QuestionStarted(number=1, question_digest="x")])

    assert score.figures.n_questions == 0
    assert (score.pending, score.is_valid) == (1, False)


async def test_a_killed_agent_leaves_a_log_that_counts_as_incomplete(tmp_path: Path) -> None:
    score = await _score(tmp_path, 3, [question(1, "a")])

    assert score.is_incomplete
    assert _figures(score) == pytest.approx((1.0, 1 / 3, 0.5))


async def test_an_answer_that_did_not_arrive_is_counted_and_reported_apart(tmp_path: Path) -> None:
    events = [question(1, "a"), Delivery(number=1, delivered=False), question(2, "b")]

    score = await _score(tmp_path, 4, events)

    assert score.figures.n_blockers_discovered == 2
    assert (score.undelivered, score.n_discovered_delivered) == (1, 1)


@pytest.mark.parametrize("mode", [Mode.BASELINE, Mode.FULL_INFO])
async def test_modes_without_ask_human_have_no_figures(tmp_path: Path, mode: Mode) -> None:
    session = make_session(tmp_path / "session.jsonl", None, mode=mode)
    await session.begin()
    await session.close("disconnected")

    score = score_session(read_session(session.log.path))

    assert _figures(score) == (None, None, None)


async def test_a_task_without_blockers_has_no_figures_and_leaves_the_mean(tmp_path: Path) -> None:
    empty = await _score(tmp_path, 0, [question(1, None)])
    full = await _score(tmp_path, 3, [question(1, "a")], task_id="t2")

    (one,) = score_sets([empty, full])

    assert _figures(empty) == (None, None, None)
    assert one.macro_ask_f1 == 0.5
    assert one.macro_left_out == 1


async def test_sessions_of_unequal_conditions_are_never_added_up(tmp_path: Path) -> None:
    await ask_all(tmp_path / "one.jsonl", ["a"], rules=CountingRules.RELEASE_1)
    await ask_all(tmp_path / "two.jsonl", ["a"], rules=CountingRules.RELEASE_2)

    sets: tuple[SetScore, ...] = score_sets(
        score_session(read_session(tmp_path / name)) for name in ("one.jsonl", "two.jsonl")
    )

    assert [len(one.sessions) for one in sets] == [1, 1]
