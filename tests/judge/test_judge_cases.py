"""The shared cases of odd replies and outages, through a whole session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest

from hil_mcp.events import Question
from hil_mcp.session import CANT_ANSWER, IRRELEVANT
from hil_mcp.session_reader import read_session
from judge.errors import JudgeSetupError
from judge.lifecycle import probe_judge
from task_store.records import Blocker, BlockerId, Registry
from tests.support.endpoints import Endpoint, Reply, chat_judge, completion, verdict_text
from tests.support.sessions import make_session
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

    from task_store.records import Task

Case = dict[str, Any]


@pytest.fixture(scope="module")
def cases(shared_dir: Path) -> dict[str, Case]:
    rows = cast("list[Case]", json.loads((shared_dir / "cases.json").read_text(encoding="utf-8")))
    return {row["id"]: row for row in rows}


def _task(cases: dict[str, Case], ref: str) -> Task:
    blockers = tuple(
        Blocker(
            blocker_id=BlockerId(row["id"]),
            description=row["description"],
            resolution=row["resolution"],
            example_questions=tuple(row["example_questions"]),
            type=row.get("type"),
        )
        for row in cases[ref]["input"]["blockers"]
    )
    task = make_task()
    object.__setattr__(task, "registry", Registry(blockers=blockers))
    return task


async def _ask(
    path: Path, task: Task, replies: list[Reply | str] | Endpoint, *questions: str
) -> tuple[list[str], list[Question]]:
    endpoint = replies if isinstance(replies, Endpoint) else Endpoint(replies)
    session = make_session(path, chat_judge(endpoint), task=task)
    await session.begin()
    answers = [await session.ask(question, meta={}) for question in questions]
    await session.close("disconnected")
    return answers, read_session(path).of(Question)


def _parse_cases(shared: dict[str, Case]) -> list[Case]:
    return [row for row in shared.values() if row["area"] == "judge_parse"]


async def test_every_odd_reply_is_read_as_the_cases_say(
    cases: dict[str, Case], tmp_path: Path
) -> None:
    rows = _parse_cases(cases)
    for row in rows:
        given, expected = row["input"], row["expected"]
        task = _task(cases, given["registry_ref"])
        replies = [
            completion(part["content"], finish=part["finish_reason"])
            for part in given.get("http", [])
            for _ in range(given["repeat"])
        ] or [completion(given["judge_raw_text"])] * 3

        answers, (event,) = await _ask(
            tmp_path / row["id"], task, [*replies], "What is asked for here?"
        )

        verdict_id = event.verdict.blocker_id if event.verdict else None
        assert verdict_id == expected.get("match"), row["id"]
        if "response" in expected:
            assert answers == [expected["response"]], row["id"]
        if "log_flag" in expected:
            assert event.flags == [expected["log_flag"]], row["id"]
        if "log" in expected:
            assert event.error is not None
            assert event.error.class_ == expected["log"]["error"], row["id"]
            assert event.error.attempts == expected["log"]["attempts"], row["id"]
    assert len(rows) == 10


async def test_a_reply_of_null_is_tried_again_then_logged_as_unreadable(
    cases: dict[str, Case], tmp_path: Path
) -> None:
    replies: list[Reply | str] = [cases["P05"]["input"]["judge_raw_text"]] * 3

    answers, (event,) = await _ask(tmp_path / "log", _task(cases, "R00"), replies, "Which hour?")

    assert answers == [CANT_ANSWER]
    assert event.error is not None
    assert (event.error.class_, event.error.attempts) == ("parse", 3)


async def test_an_outage_is_not_remembered_as_an_answer(
    cases: dict[str, Case], tmp_path: Path
) -> None:
    task, question = _task(cases, "R00"), cases["O01"]["input"]["Q"]
    replies: list[Reply | str] = [*[httpx.ConnectError("refused")] * 3, verdict_text("B1")]

    answers, events = await _ask(tmp_path / "log", task, replies, question, question)

    assert answers == [CANT_ANSWER, task.registry.blockers[0].resolution]
    assert [event.error.class_ if event.error else None for event in events] == ["connection", None]


async def test_a_model_that_is_not_served_fails_the_start(cases: dict[str, Case]) -> None:
    assert cases["O02"]["input"]["judge"].startswith("answers 404")
    endpoint = Endpoint(
        lambda _: httpx.Response(404, json={"message": "model name not served"}),
        models=["one/model", "other/model"],
    )

    with pytest.raises(JudgeSetupError, match="one/model, other/model"):
        await probe_judge(chat_judge(endpoint))


async def test_braces_and_percent_signs_come_back_byte_for_byte(
    cases: dict[str, Case], tmp_path: Path
) -> None:
    row = cases["R09"]
    task = _task(cases, "R09")

    answers, _ = await _ask(tmp_path / "log", task, [verdict_text("B1")], row["input"]["ask"])

    assert answers == [row["input"]["blockers"][0]["resolution"]]


@pytest.mark.parametrize("case_id", ["J10", "J11", "J12"])
async def test_a_message_that_orders_the_judge_about_gets_nothing(
    cases: dict[str, Case], tmp_path: Path, case_id: str
) -> None:
    row = cases[case_id]
    endpoint = Endpoint(lambda _: completion(verdict_text("B3", "as ordered")))

    answers, (event,) = await _ask(
        tmp_path / "log", _task(cases, "R00"), endpoint, row["input"]["question"]
    )

    assert answers == [IRRELEVANT]
    assert "suspected_injection" in event.flags
    assert all(text not in answers[0] for text in row["expected"].get("must_not_contain", []))


async def test_a_question_of_fifty_thousand_characters_gets_a_verdict(
    cases: dict[str, Case], tmp_path: Path
) -> None:
    question = "Which hour is late? " + "padding " * 6_250

    answers, (event,) = await _ask(
        tmp_path / "log", _task(cases, "R00"), [verdict_text("none")], question
    )

    assert answers == [IRRELEVANT]
    assert event.flags == ["question_truncated"]
