"""Several judges, one verdict: by majority, or only when all agree."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Literal

import anyio

from judge.errors import JudgeError
from judge.evaluate import judge_of_task
from judge.lifecycle import close_judge, probe_judge, warm_judge
from judge.verdict import JudgeFingerprint, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from judge.verdict import Judge, RegistryView

VoteRule = Literal["majority", "unanimous"]
MEMBER_FAILED = "member_failed"
"""Flag of a verdict that stands although a member gave none; the reason says why."""


class VoteJudge:
    """Asks all members at once. A member that fails has no vote, and its failure is no "no"."""

    def __init__(
        self,
        members: Sequence[Judge],
        rule: VoteRule,
        *,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Set up the vote.

        Args:
            members: At least two judges.
            rule: `majority` wants more than half of all members for one blocker; `unanimous` all.
            timer: Seconds, for the verdict's latency.
        """
        self._members = tuple(members)
        self._rule: VoteRule = rule
        self._timer = timer

    @property
    def fingerprint(self) -> JudgeFingerprint:
        """Names the rule and the fingerprint of each member."""
        return JudgeFingerprint(
            backend="vote",
            model=None,
            policy=self._rule,
            members=[member.fingerprint.digest for member in self._members],
            trained_on=tuple(
                sorted({task for member in self._members for task in member.fingerprint.trained_on})
            ),
        )

    def for_evaluation(self, task_id: str, registry: RegistryView) -> VoteJudge:
        """The same vote of members that were never fitted to this task."""
        members = [judge_of_task(member)(task_id, registry) for member in self._members]
        return VoteJudge(members, self._rule, timer=self._timer)

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        """Ask all members and count.

        Raises:
            JudgeError: The votes of the members that failed would have decided.
        """
        started = self._timer()
        verdicts: list[Verdict | None] = [None] * len(self._members)
        failures: list[JudgeError] = []

        async def ask(place: int, member: Judge) -> None:
            try:
                verdicts[place] = await member.decide(question, registry)
            except JudgeError as exc:
                failures.append(exc)

        async with anyio.create_task_group() as asking:
            for place, member in enumerate(self._members):
                asking.start_soon(ask, place, member)
        given = [verdict for verdict in verdicts if verdict is not None]
        winner, is_decided = count_votes(
            [verdict.blocker_id for verdict in given], missing=len(failures), rule=self._rule
        )
        if not is_decided:
            first = failures[0]
            votes = f"; the others: {_counted(given)}" if given else ""
            raise JudgeError(
                f"{len(failures)} of {len(self._members)} judges failed, and their votes would "
                f"decide: {first}{votes}",
                error_class=first.error_class,
                attempts=sum(failure.attempts for failure in failures)
                + sum(verdict.attempts for verdict in given),
            ) from first
        return self._verdict(winner, given, failures, started)

    async def probe(self) -> None:
        """Probe every member."""
        for member in self._members:
            await probe_judge(member)

    async def warm_up(self, registry: RegistryView | None = None) -> None:
        """Load every member's model."""
        for member in self._members:
            await warm_judge(member, registry)

    async def aclose(self) -> None:
        """Close every member."""
        for member in self._members:
            await close_judge(member)

    def _verdict(
        self,
        winner: str | None,
        given: Sequence[Verdict],
        failures: Sequence[JudgeError],
        started: float,
    ) -> Verdict:
        counted = [_counted(given), *(f"failed: {failure}" for failure in failures)]
        flags = [flag for verdict in given for flag in verdict.flags]
        if failures:
            flags.append(MEMBER_FAILED)
        tokens = [verdict.tokens for verdict in given if verdict.tokens is not None]
        return Verdict(
            blocker_id=winner,
            reason=f"{self._rule} of {len(self._members)} judges ({'; '.join(counted)})",
            latency_ms=(self._timer() - started) * 1000,
            tokens=sum(tokens) if tokens else None,
            attempts=sum(verdict.attempts for verdict in given)
            + sum(failure.attempts for failure in failures),
            fingerprint=self.fingerprint.digest,
            flags=tuple(dict.fromkeys(flags)),
            members=tuple(given),
        )


def _counted(given: Sequence[Verdict]) -> str:
    votes = Counter(verdict.blocker_id or "no match" for verdict in given)
    return ", ".join(f"{choice}: {count}" for choice, count in votes.most_common())


def count_votes(
    votes: Sequence[str | None], *, missing: int, rule: VoteRule
) -> tuple[str | None, bool]:
    """The outcome of a vote, and whether the missing votes could not have changed it.

    Args:
        votes: A blocker id or None of each member that gave a verdict.
        missing: Members that gave none.
        rule: `majority` or `unanimous`.

    Returns:
        The blocker that won, or None when none did; and whether that stands whatever the missing
        votes had been.
    """
    total = len(votes) + missing
    needed = total if rule == "unanimous" else total // 2 + 1
    counts = Counter(vote for vote in votes if vote is not None)
    winner = next((blocker for blocker, count in counts.items() if count >= needed), None)
    if winner is not None:
        return winner, True
    most = max(counts.values(), default=0)
    return None, most + missing < needed
