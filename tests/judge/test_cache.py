"""The cache: the same question once, failures never, and no harm where it cannot be used."""

from __future__ import annotations

import sqlite3
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from judge.cache import CachedJudge
from judge.errors import JudgeError
from judge.lifecycle import close_judge, probe_judge
from judge.vote import VoteJudge
from tests.support.endpoints import Endpoint, chat_judge, verdict_text
from tests.support.judges import ScriptedJudge, hiccup
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

REGISTRY = make_task("a", "b").registry


async def test_the_same_question_is_judged_once_and_the_hit_says_so(tmp_path: Path) -> None:
    inner = ScriptedJudge(["a"])
    judge = CachedJudge(inner, tmp_path / "deep" / "cache.db")

    first = await judge.decide("Which a?", REGISTRY)
    second = await CachedJudge(inner, tmp_path / "deep" / "cache.db").decide("Which a?", REGISTRY)

    assert (first.source, second.source) == ("judge", "cache")
    assert second == replace(first, source="cache", attempts=0, latency_ms=second.latency_ms)
    assert inner.questions == ["Which a?"]
    assert judge.fingerprint == inner.fingerprint


@pytest.mark.parametrize("question", ["Which a? ", "which a?", "Which \ud800 a?"])
async def test_only_exactly_the_same_text_is_a_hit(tmp_path: Path, question: str) -> None:
    judge = CachedJudge(ScriptedJudge(["a", None]), tmp_path / "cache.db")
    await judge.decide("Which a?", REGISTRY)

    assert (await judge.decide(question, REGISTRY)).source == "judge"


async def test_another_registry_or_judge_is_no_hit(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    await CachedJudge(ScriptedJudge(["a"]), path).decide("Which a?", REGISTRY)
    other = VoteJudge([ScriptedJudge(["b"]), ScriptedJudge(["b"])], "majority")

    by_registry = await CachedJudge(ScriptedJudge([None]), path).decide(
        "Which a?", make_task("a").registry
    )
    by_judge = await CachedJudge(other, path).decide("Which a?", REGISTRY)

    assert (by_registry.source, by_judge.source) == ("judge", "judge")


async def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    judge = CachedJudge(ScriptedJudge([hiccup(), "a"]), tmp_path / "cache.db")
    with pytest.raises(JudgeError):
        await judge.decide("Which a?", REGISTRY)

    assert (await judge.decide("Which a?", REGISTRY)).blocker_id == "a"


async def test_a_vote_comes_back_with_its_members(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    members = [chat_judge(Endpoint([verdict_text("B1", reason)])) for reason in ("one", "two")]
    judge = CachedJudge(VoteJudge(members, "majority"), path)
    fresh = await judge.decide("Which a?", REGISTRY)

    # The members' fingerprints were settled by their first replies.
    hit = await judge.decide("Which a?", REGISTRY)

    assert hit.source == "cache"
    assert hit.members == fresh.members
    assert [member.reason for member in hit.members] == ["one", "two"]


async def test_a_file_that_is_no_database_does_not_stop_the_judge(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "cache.db"
    path.write_text("nonsense " * 1000, encoding="utf-8")

    verdict = await CachedJudge(ScriptedJudge(["a"]), path).decide("Which a?", REGISTRY)

    assert (verdict.blocker_id, verdict.source) == ("a", "judge")
    assert "cannot be read" in caplog.text
    assert "cannot be written" in caplog.text


async def test_a_row_that_is_no_verdict_is_judged_afresh(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    await CachedJudge(ScriptedJudge(["a"]), path).decide("Which a?", REGISTRY)
    with sqlite3.connect(path) as connection:
        connection.execute('update verdicts set verdict = \'{"blocker_id": "b"}\'')
    connection.close()

    verdict = await CachedJudge(ScriptedJudge(["a"]), path).decide("Which a?", REGISTRY)

    assert (verdict.blocker_id, verdict.source) == ("a", "judge")


_WRITER = """
import sys, anyio
from pathlib import Path
from judge.cache import CachedJudge
from tests.support.judges import RuleJudge
from tests.support.tasks import make_task

async def main(name: str) -> None:
    judge = CachedJudge(RuleJudge(lambda question: "a"), Path(sys.argv[1]))
    for number in range(20):
        await judge.decide(f"{name} {number}", make_task("a", "b").registry)

anyio.run(main, sys.argv[2])
"""


async def test_two_processes_may_fill_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    async with anyio.create_task_group() as writing:
        for name in ("x", "y"):
            writing.start_soon(anyio.run_process, [sys.executable, "-c", _WRITER, str(path), name])

    judge = CachedJudge(ScriptedJudge([]), path)
    hits = [
        await judge.decide(f"{name} {number}", REGISTRY) for name in "xy" for number in range(20)
    ]

    assert {hit.source for hit in hits} == {"cache"}


async def test_probing_and_closing_go_to_the_judge_itself(tmp_path: Path) -> None:
    judge = CachedJudge(ScriptedJudge([]), tmp_path / "cache.db")

    await probe_judge(judge)
    await close_judge(judge)

    assert not (tmp_path / "cache.db").exists()
