"""Judges that do as they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from judge.errors import JudgeError
from judge.verdict import JudgeFingerprint, RegistryView, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FINGERPRINT = JudgeFingerprint(backend="scripted", model=None, policy="as-told")


def verdict_for(blocker_id: str | None) -> Verdict:
    return Verdict(blocker_id=blocker_id, reason="as told", fingerprint=FINGERPRINT.digest)


class ScriptedJudge:
    """Gives the next of its decisions: a blocker id, None, or an error to raise."""

    def __init__(self, decisions: Sequence[str | Exception | None]) -> None:
        self._decisions = list(decisions)
        self.questions: list[str] = []

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        self.questions.append(question)
        decision = self._decisions.pop(0)
        if isinstance(decision, Exception):
            raise decision
        return verdict_for(decision)

    @property
    def fingerprint(self) -> JudgeFingerprint:
        return FINGERPRINT


class RuleJudge:
    """Decides by a function of the question."""

    def __init__(self, rule: Callable[[str], str | None]) -> None:
        self._rule = rule

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        return verdict_for(self._rule(question))

    @property
    def fingerprint(self) -> JudgeFingerprint:
        return FINGERPRINT


class HeldJudge:
    """Says when it has begun and decides when it is let go."""

    def __init__(self, blocker_id: str | None) -> None:
        self._blocker_id = blocker_id
        self.has_begun = anyio.Event()
        self.has_begun_again = anyio.Event()
        self.let_go = anyio.Event()

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        if self.has_begun.is_set():
            self.has_begun_again.set()
        self.has_begun.set()
        await self.let_go.wait()
        return verdict_for(self._blocker_id)

    @property
    def fingerprint(self) -> JudgeFingerprint:
        return FINGERPRINT


def hiccup(error_class: str = "http") -> JudgeError:
    return JudgeError("the judge answered 500", error_class=error_class, attempts=3)
