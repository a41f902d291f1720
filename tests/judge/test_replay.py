"""Replay: the verdicts of a log again, in order, and nothing that the log does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from judge.errors import JudgeError, JudgeSetupError, JudgeUsageError
from judge.replay import ReplayJudge
from judge.vote import VoteJudge
from tests.support.judges import FINGERPRINT, ScriptedJudge, hiccup
from tests.support.sessions import make_session
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

TASK = make_task("a", "b", "c")


async def _recorded(path: Path, *asked: tuple[str, str | Exception | None]) -> Path:
    judge = ScriptedJudge([decision for text, decision in asked if len(text) > 2])
    session = make_session(path, judge, task=TASK)
    await session.begin()
    for text, _ in asked:
        await session.ask(text, meta={})
    await session.close("disconnected")
    return path


async def test_each_asking_gets_the_verdict_it_got_then(tmp_path: Path) -> None:
    log = await _recorded(
        tmp_path / "log", ("Which a?", "a"), ("Which b?", None), ("Which a?", None), ("?", None)
    )
    judge = ReplayJudge.from_log(log)

    verdicts = [
        await judge.decide(question, TASK.registry)
        for question in ("Which a?", "Which a?", "Which b?")
    ]

    assert [verdict.blocker_id for verdict in verdicts] == ["a", None, None]
    assert {verdict.source for verdict in verdicts} == {"replay"}
    assert {verdict.fingerprint for verdict in verdicts} == {judge.fingerprint.digest}


async def test_a_question_that_was_not_asked_so_often_is_an_error(tmp_path: Path) -> None:
    judge = ReplayJudge.from_log(await _recorded(tmp_path / "log", ("Which a?", "a")))
    await judge.decide("Which a?", TASK.registry)

    for question in ("Which a?", "Which z?"):
        with pytest.raises(JudgeError) as missed:
            await judge.decide(question, TASK.registry)
        assert missed.value.error_class == "replay_miss"


async def test_a_judge_that_failed_then_fails_again(tmp_path: Path) -> None:
    judge = ReplayJudge.from_log(await _recorded(tmp_path / "log", ("Which a?", hiccup("timeout"))))

    with pytest.raises(JudgeError, match="failed when it was recorded") as failed:
        await judge.decide("Which a?", TASK.registry)

    assert failed.value.error_class == "timeout"


async def test_another_registry_is_refused(tmp_path: Path) -> None:
    judge = ReplayJudge.from_log(await _recorded(tmp_path / "log", ("Which a?", "a")))

    with pytest.raises(JudgeSetupError, match="another registry"):
        await judge.decide("Which a?", make_task("a", "b").registry)


async def test_the_fingerprint_names_the_recorded_judge(tmp_path: Path) -> None:
    judge = ReplayJudge.from_log(await _recorded(tmp_path / "log", ("Which a?", "a")))

    assert judge.fingerprint.backend == "replay"
    assert judge.fingerprint.policy == FINGERPRINT.policy
    assert judge.fingerprint.members == (FINGERPRINT.digest,)


async def test_the_single_verdicts_of_a_vote_come_again(tmp_path: Path) -> None:
    members = [ScriptedJudge(["a"]), ScriptedJudge(["a"]), ScriptedJudge(["b"])]
    session = make_session(tmp_path / "log", VoteJudge(members, "majority"), task=TASK)
    await session.begin()
    await session.ask("Which a?", meta={})
    await session.close("disconnected")

    verdict = await ReplayJudge.from_log(tmp_path / "log").decide("Which a?", TASK.registry)

    assert [member.blocker_id for member in verdict.members] == ["a", "a", "b"]
    assert {member.fingerprint for member in verdict.members} == {FINGERPRINT.digest}


async def test_a_last_line_that_a_crash_cut_is_left_out(tmp_path: Path) -> None:
    log = await _recorded(tmp_path / "log", ("Which a?", "a"))
    log.write_bytes(log.read_bytes() + b'{"event": "questi')

    judge = ReplayJudge.from_log(log)

    assert (await judge.decide("Which a?", TASK.registry)).blocker_id == "a"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nonsense\n", "line 1 is no event"),
        ("[]\n", "line 1 is no event"),
        ('{"event": "question"}\n', "line 1 is no event"),
        ("{}\n", "nothing to replay"),
        ("", "nothing to replay"),
    ],
)
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "log"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(JudgeUsageError, match=error):
        ReplayJudge.from_log(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JudgeUsageError, match="cannot be replayed"):
        ReplayJudge.from_log(tmp_path / "none")
