"""The counting rules, through a whole session, as docs/release.md describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from hil_mcp.counting import CountingRules
from hil_mcp.events import Question
from hil_mcp.scoring import AskFigures, score_session
from hil_mcp.session import CANT_ANSWER, IRRELEVANT
from hil_mcp.session_reader import read_session
from tests.support.judges import HeldJudge, RuleJudge, hiccup
from tests.support.sessions import ask_all, make_session
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

TASK = make_task("late_cutoff", "active_flag", "weight_unit", "refund_rounding")
RES: dict[str, str] = {b.blocker_id: b.resolution for b in TASK.registry.blockers}


async def _figures(path: Path) -> AskFigures:
    return score_session(read_session(path)).figures


async def test_release_1_gives_three_answers_a_task_and_then_none(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    decisions = ["late_cutoff", "active_flag", "weight_unit", "refund_rounding"]

    replies = await ask_all(log, decisions, task=TASK, rules=CountingRules.RELEASE_1)

    assert replies == [*(RES[name] for name in decisions[:3]), IRRELEVANT]
    last = read_session(log).of(Question)[-1]
    assert (last.outcome, last.blocker_id, last.verdict) == ("capped", None, None)
    figures = await _figures(log)
    assert (figures.precision, figures.recall, figures.ask_f1) == (0.75, 0.75, 0.75)


async def test_release_1_lets_repeats_use_up_the_answers(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    decisions = ["late_cutoff", "late_cutoff", "late_cutoff", "active_flag"]

    replies = await ask_all(log, decisions, task=TASK, rules=CountingRules.RELEASE_1)

    assert replies == [RES["late_cutoff"]] * 3 + [IRRELEVANT]
    figures = await _figures(log)
    assert (figures.precision, figures.recall, figures.ask_f1) == (0.25, 0.25, 0.25)


async def test_release_2_gives_two_answers_a_blocker(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    decisions = ["late_cutoff"] * 3 + ["active_flag", "weight_unit", "refund_rounding"]

    replies = await ask_all(log, decisions, task=TASK)

    assert replies == [
        RES["late_cutoff"],
        RES["late_cutoff"],
        IRRELEVANT,
        RES["active_flag"],
        RES["weight_unit"],
        RES["refund_rounding"],
    ]
    figures = await _figures(log)
    assert figures.precision == pytest.approx(0.666667, abs=1e-6)
    assert (figures.recall, figures.ask_f1) == (1.0, 0.8)


async def test_failed_and_rejected_questions_use_up_no_answer(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    decisions = [hiccup(), None, "late_cutoff", hiccup(), "active_flag", "weight_unit"]

    replies = await ask_all(log, decisions, task=TASK, rules=CountingRules.RELEASE_1)

    assert replies[0] == replies[3] == CANT_ANSWER
    assert replies[-1] == RES["weight_unit"]
    figures = await _figures(log)
    assert (figures.n_questions, figures.n_blockers_discovered) == (6, 3)
    assert figures.ask_f1 == pytest.approx(0.6)


async def test_paper_rules_have_no_cap(tmp_path: Path) -> None:
    replies = await ask_all(
        tmp_path / "session.jsonl",
        ["late_cutoff"] * 5,
        task=TASK,
        rules=CountingRules.PAPER,
    )

    assert replies == [RES["late_cutoff"]] * 5


async def test_questions_asked_at_once_do_not_get_more_answers_than_the_rules_give(
    tmp_path: Path,
) -> None:
    judge = HeldJudge("late_cutoff")
    session = make_session(
        tmp_path / "session.jsonl", judge, task=TASK, rules=CountingRules.RELEASE_1
    )
    await session.begin()
    replies: list[str] = []

    async def ask() -> None:
        replies.append(await session.ask("When is it late?", meta={}))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(ask)
            await judge.has_begun.wait()
            judge.let_go.set()
    await session.close("disconnected")

    assert replies.count(RES["late_cutoff"]) == 3
    assert replies.count(IRRELEVANT) == 5
    numbers = [q.number for q in read_session(session.log.path).of(Question)]
    assert sorted(numbers) == list(range(1, 9))


@pytest.mark.parametrize("question", ["", "   ", "hi", "\u200b\u200b\u200b\u200b"])
async def test_a_question_too_short_to_be_one_is_counted_and_never_judged(
    tmp_path: Path, question: str
) -> None:
    judge = RuleJudge(lambda _: pytest.fail("the judge was asked"))
    session = make_session(tmp_path / "session.jsonl", judge)
    await session.begin()

    reply = await session.ask(question, meta={})
    await session.close("disconnected")

    assert reply == IRRELEVANT
    (logged,) = read_session(session.log.path).of(Question)
    assert (logged.outcome, logged.question) == ("too_short", question)
