"""Sessions driven in process, and logs made of them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from hil_mcp.counting import CountingRules
from hil_mcp.events import AgentInfo, EventBody, Question, Submission
from hil_mcp.modes import Mode
from hil_mcp.session import CANT_ANSWER, IRRELEVANT, Session, SessionConditions
from hil_mcp.session_log import SessionLog
from tests.support.judges import ScriptedJudge
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from pathlib import Path

    from judge.verdict import Judge
    from task_store.records import Task


def make_session(
    path: Path,
    judge: Judge | None,
    *,
    task: Task | None = None,
    rules: CountingRules = CountingRules.RELEASE_2,
    mode: Mode = Mode.ASK_HUMAN,
    pass_number: int | None = None,
    isolation: str | None = None,
    agent: AgentInfo | None = None,
    settled: Callable[[], Awaitable[None]] | None = None,
) -> Session:
    conditions = SessionConditions(
        mode=mode,
        prompt_digest="prompt",
        counting_rules=rules,
        pass_number=pass_number,
        isolation=isolation,
        agent=agent,
    )
    return Session(
        task or make_task("a", "b", "c"), conditions, SessionLog(path), judge, settled=settled
    )


async def ask_all(
    path: Path,
    decisions: Sequence[str | Exception | None],
    *,
    task: Task | None = None,
    rules: CountingRules = CountingRules.RELEASE_2,
    pass_number: int | None = None,
    isolation: str | None = None,
    agent: AgentInfo | None = None,
) -> list[str]:
    """Run a whole session in which one question is asked for each decision."""
    session = make_session(
        path,
        ScriptedJudge(decisions),
        task=task,
        rules=rules,
        pass_number=pass_number,
        isolation=isolation,
        agent=agent,
    )
    await session.begin()
    replies = [
        await session.ask(f"Which thing is number {number}?", meta={})
        for number in range(len(decisions))
    ]
    await session.close("disconnected")
    return replies


def question(number: int, blocker_id: str | None, *, text: str = "Which one?") -> Question:
    """A question event as a log holds it; `"hiccup"` for one that the judge could not answer."""
    is_hiccup = blocker_id == "hiccup"
    response = CANT_ANSWER if is_hiccup else IRRELEVANT if blocker_id is None else "res"
    return Question(
        number=number,
        question=text,
        response=response,
        blocker_id=None if is_hiccup else blocker_id,
        outcome="cant_answer" if is_hiccup else "irrelevant" if blocker_id is None else "answered",
        verdict=None,
        tool_calls_before=0,
    )


def submission(content: str) -> Submission:
    return Submission(
        kind="sql", content=content, digest=hashlib.sha256(content.encode()).hexdigest()
    )


async def write_log(path: Path, bodies: Iterable[EventBody], *, task: Task | None = None) -> Path:
    """A log with a session_start, these events, and no end."""
    session = make_session(path, ScriptedJudge([]), task=task)
    await session.begin()
    session.log.append(*bodies)
    session.log.close()
    return path
