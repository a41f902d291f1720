"""Votes: what decides, what a failed member may not decide, what the log keeps."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import httpx
import pytest

from judge.embedded import EmbeddedJudge
from judge.errors import JudgeError, JudgeSetupError
from judge.evaluate import judge_of_task
from judge.lifecycle import close_judge, probe_judge
from judge.vote import VoteJudge, VoteRule, count_votes
from tests.support.endpoints import Endpoint, chat_judge, verdict_text
from tests.support.judges import ScriptedJudge, hiccup
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from judge.verdict import Verdict

REGISTRY = make_task("tide", "berth").registry


async def _vote(rule: VoteRule, *decisions: str | Exception | None) -> Verdict:
    judge = VoteJudge([ScriptedJudge([decision]) for decision in decisions], rule)
    return await judge.decide("Which tide?", REGISTRY)


@pytest.mark.parametrize(
    ("rule", "decisions", "winner"),
    [
        ("majority", ["tide", "tide", None], "tide"),
        ("majority", ["tide", "tide", "berth"], "tide"),
        ("majority", ["tide", None, None], None),
        ("majority", ["tide", "berth", None], None),
        ("majority", ["tide", "berth"], None),
        ("unanimous", ["tide", "tide", "tide"], "tide"),
        ("unanimous", ["tide", "tide", None], None),
        ("unanimous", ["tide", "berth"], None),
    ],
)
async def test_only_enough_votes_for_one_blocker_make_a_match(
    rule: VoteRule, decisions: list[str | None], winner: str | None
) -> None:
    verdict = await _vote(rule, *decisions)

    assert verdict.blocker_id == winner
    assert [member.blocker_id for member in verdict.members] == decisions


@pytest.mark.parametrize(
    ("rule", "decisions", "winner"),
    [
        ("majority", ["tide", "tide", hiccup()], "tide"),
        ("majority", [None, None, hiccup()], None),
        ("unanimous", [None, "tide", hiccup()], None),
    ],
)
async def test_a_failed_member_does_not_matter_where_its_vote_would_not(
    rule: VoteRule, decisions: list[str | Exception | None], winner: str | None
) -> None:
    verdict = await _vote(rule, *decisions)

    assert verdict.blocker_id == winner
    assert "member_failed" in verdict.flags
    assert "failed: " in verdict.reason


@pytest.mark.parametrize(
    ("rule", "decisions"),
    [
        ("majority", ["tide", None, hiccup("timeout")]),
        ("majority", [hiccup("timeout"), hiccup()]),
        ("unanimous", ["tide", "tide", hiccup("timeout")]),
    ],
)
async def test_a_failed_member_whose_vote_would_decide_is_no_verdict(
    rule: VoteRule, decisions: list[str | Exception | None]
) -> None:
    with pytest.raises(JudgeError, match="their votes would decide") as failed:
        await _vote(rule, *decisions)

    assert failed.value.error_class == "timeout"
    assert failed.value.attempts >= 3
    assert ("the others: tide: " in str(failed.value)) == ("tide" in decisions)


@pytest.mark.parametrize("rule", ["majority", "unanimous"])
@pytest.mark.parametrize("total", [2, 3, 4])
def test_a_decision_stands_whatever_the_missing_votes_had_been(rule: VoteRule, total: int) -> None:
    choices = ["tide", "berth", None]
    for votes in itertools.product(choices, repeat=total):
        whole, is_decided = count_votes(votes, missing=0, rule=rule)
        assert is_decided
        for given in range(total):
            winner, stands = count_votes(votes[:given], missing=total - given, rule=rule)
            if stands:
                assert winner == whole


async def test_the_fingerprint_names_the_rule_and_each_member() -> None:
    member = ScriptedJudge([])

    fingerprint = VoteJudge([member, member], "unanimous").fingerprint

    assert (fingerprint.backend, fingerprint.policy) == ("vote", "unanimous")
    assert fingerprint.members == [member.fingerprint.digest] * 2
    assert VoteJudge([member] * 3, "unanimous").fingerprint.digest != fingerprint.digest


async def test_a_vote_is_evaluated_by_members_that_never_saw_the_task() -> None:
    fitted = EmbeddedJudge()
    task = fitted.fingerprint.trained_on[0]

    whole = VoteJudge([fitted, ScriptedJudge([])], "majority")
    held_out = judge_of_task(whole)(task, REGISTRY)

    assert task in whole.fingerprint.trained_on
    assert task not in held_out.fingerprint.trained_on
    assert held_out.fingerprint.trained_on


async def test_every_member_is_probed_and_closed() -> None:
    unfit = chat_judge(Endpoint([], models=httpx.Response(401)))
    judge = VoteJudge([ScriptedJudge([]), unfit], "majority")

    with pytest.raises(JudgeSetupError, match=r"^key"):
        await probe_judge(judge)
    await close_judge(judge)

    with pytest.raises(RuntimeError, match="closed"):
        await unfit.decide("Which tide?", REGISTRY)


async def test_tokens_and_flags_of_all_members_are_kept() -> None:
    members = [chat_judge(Endpoint([verdict_text("nonsense")])) for _ in range(2)]

    verdict = await VoteJudge(members, "majority").decide("Which tide?", REGISTRY)

    assert (verdict.tokens, verdict.attempts, verdict.flags) == (200, 2, ("invalid_key",))
