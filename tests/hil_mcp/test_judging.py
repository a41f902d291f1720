"""A judge behind a running server: ready later, unfit for a while, never replaced."""

from __future__ import annotations

import anyio
import pytest

from hil_mcp.judging import BackgroundJudge
from judge.errors import JudgeSetupError
from tests.support.judges import ScriptedJudge
from tests.support.tasks import make_task

REGISTRY = make_task("a", "b").registry


class Server:
    """Is not there for the first checks; counts them."""

    def __init__(self, *, away: int) -> None:
        self._away = away
        self.checks = 0

    async def get_ready(self) -> None:
        self.checks += 1
        await anyio.lowlevel.checkpoint()
        if self.checks <= self._away:
            raise JudgeSetupError("server: it is starting")


async def test_a_question_waits_until_the_judge_is_ready() -> None:
    judge = BackgroundJudge(ScriptedJudge(["a"]), None)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(judge.run)

        assert (await judge.decide("Which a?", REGISTRY)).blocker_id == "a"


async def test_a_judge_that_was_unfit_is_checked_again_with_the_next_question() -> None:
    server = Server(away=2)
    judge = BackgroundJudge(ScriptedJudge(["a", "b"]), server.get_ready)
    await judge.run()

    with pytest.raises(JudgeSetupError, match="it is starting"):
        await judge.decide("Which a?", REGISTRY)
    verdicts = [await judge.decide(question, REGISTRY) for question in ("Which a?", "Which b?")]

    assert [verdict.blocker_id for verdict in verdicts] == ["a", "b"]
    assert server.checks == 3


async def test_questions_at_the_same_time_check_an_unfit_judge_once() -> None:
    server = Server(away=1)
    judge = BackgroundJudge(ScriptedJudge(["a"] * 5), server.get_ready)
    await judge.run()

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(judge.decide, "Which a?", REGISTRY)

    assert server.checks == 2
