"""A server that fails in every way: no failure becomes a verdict, and no question is lost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import anyio
import pytest

from hil_mcp.counting import CountingRules
from hil_mcp.events import Question
from hil_mcp.session import CANT_ANSWER, IRRELEVANT
from hil_mcp.session_reader import read_session
from judge.chat import ChatJudge
from judge.client import ChatClient
from judge.prompt import policy_template
from judge.retries import RetryRules
from tests.support.endpoints import MODEL
from tests.support.fault_server import (
    FAULTS,
    N_BLOCKERS,
    question,
    right_alias,
    running_fault_server,
)
from tests.support.sessions import make_session
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

TASK = make_task(*[f"boat{place}" for place in range(1, N_BLOCKERS + 1)])
_RIGHT = {f"B{place}": f"boat{place}" for place in range(1, N_BLOCKERS + 1)} | {"none": None}
_AT_ONCE = 16


async def _ask_all(path: Path, n: int, *, deadline_s: float) -> tuple[dict[int, str], Counter[str]]:
    """Ask questions 0 to n - 1, many at once; the answers by number, and what the server did."""
    answers: dict[int, str] = {}
    async with running_fault_server() as server:
        client = ChatClient(server.url, connections=_AT_ONCE)
        judge = ChatJudge(
            client,
            policy_template("release"),
            model=MODEL,
            rules=RetryRules(deadline_s=deadline_s, first_wait_s=0.002),
            concurrency=_AT_ONCE,
        )
        session = make_session(path, judge, task=TASK, rules=CountingRules.PAPER)
        await session.begin()
        # The first verdict settles the model's name, as a probe does before a session.
        answers[0] = await session.ask(question(0), meta={})
        server.share = 0.45
        waiting = iter(range(1, n))

        async def ask() -> None:
            for number in waiting:
                answers[number] = await session.ask(question(number), meta={})

        async with anyio.create_task_group() as asking:
            for _ in range(_AT_ONCE):
                asking.start_soon(ask)
        await session.close("disconnected")
        await judge.aclose()
        return answers, server.done


@pytest.mark.parametrize(
    "n", [200, pytest.param(10_000, marks=pytest.mark.bulk, id="ten_thousand")]
)
async def test_no_failure_becomes_a_verdict_and_none_is_lost(tmp_path: Path, n: int) -> None:
    # Long enough for every kind of fault to be met on a busy machine, short enough for `slow`.
    answers, done = await _ask_all(tmp_path / "log", n, deadline_s=2.0)

    events = {event.question: event for event in read_session(tmp_path / "log").of(Question)}
    assert len(events) == n
    kinds: Counter[str] = Counter()
    for number in range(n):
        event = events[question(number)]
        assert event.response == answers[number]
        if event.verdict is None:
            assert event.error is not None
            assert (event.response, event.outcome) == (CANT_ANSWER, "cant_answer")
            kinds[event.error.class_] += 1
        else:
            right = _RIGHT[right_alias(number)]
            assert event.error is None
            assert event.verdict.blocker_id == right
            assert answers[number] == (f"Answer for {right}." if right else IRRELEVANT)
            kinds["verdict"] += 1
    assert set(done) == {*FAULTS, "truth"}
    assert kinds["verdict"]
    assert {"timeout", "judge_unfit"} <= set(kinds)
