"""Verdicts out of an earlier session log, instead of a judge's."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judge.errors import JudgeError, JudgeSetupError, JudgeUsageError
from judge.verdict import JudgeFingerprint, Setting, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from judge.verdict import RegistryView


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Judge(_Part):
    backend: str
    model: str | None = None
    model_reported: str | None = None
    policy: str
    prompt_digest: str | None = None
    sampling: dict[str, Setting] = Field(default_factory=dict[str, Setting])
    trained_on: list[str] = Field(default_factory=list[str])
    fingerprint: str


class _Start(_Part):
    registry_digest: str
    judge: _Judge | None = None


class _Verdict(_Part):
    blocker_id: str | None
    reason: str
    confidence: float | None = None
    raw: str | None = None
    fingerprint: str
    flags: list[str] = Field(default_factory=list[str])
    members: list[_Verdict] = Field(default_factory=list["_Verdict"])


class _Error(_Part):
    class_: str = Field(validation_alias="class")
    cause: str


class _Question(_Part):
    question: str
    verdict: _Verdict | None = None
    error: _Error | None = None


class ReplayJudge:
    """Gives the first asking of a question the first verdict that it got, and so on.

    A question that no judge was asked then (too short, or over a cap that stands before the judge)
    has no verdict here. A judge that failed then fails again.
    """

    def __init__(self, start: _Start, judge: _Judge, questions: list[_Question]) -> None:
        self._registry_digest = start.registry_digest
        self._judge = judge
        self._recorded: dict[str, list[_Question]] = defaultdict(list)
        for question in questions:
            if question.verdict is not None or question.error is not None:
                self._recorded[question.question].append(question)
        self._asked: dict[str, int] = defaultdict(int)

    @classmethod
    def from_log(cls, path: Path) -> ReplayJudge:
        """Read a session log.

        Raises:
            JudgeUsageError: The file cannot be read, is no session log, or asked no judge.
        """
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as exc:
            raise JudgeUsageError(f"{path}: cannot be replayed: {exc.strerror}") from exc
        start: _Start | None = None
        questions: list[_Question] = []
        for number, line in enumerate(lines[:-1], start=1):  # what follows the last \n is torn
            try:
                event = _fields(line)
                if event.get("event") == "session_start":
                    start = _Start.model_validate(event)
                elif event.get("event") == "question":
                    questions.append(_Question.model_validate(event))
            except (ValueError, ValidationError) as exc:
                raise JudgeUsageError(f"{path}: line {number} is no event of a session") from exc
        if start is None or start.judge is None:
            raise JudgeUsageError(f"{path}: holds no session with a judge: nothing to replay")
        return cls(start, start.judge, questions)

    @property
    def fingerprint(self) -> JudgeFingerprint:
        """The recorded judge's settings; its digest stands in `members`."""
        judge = self._judge
        return JudgeFingerprint(
            backend="replay",
            model=judge.model,
            model_reported=judge.model_reported,
            policy=judge.policy,
            prompt_digest=judge.prompt_digest,
            sampling=judge.sampling,
            trained_on=judge.trained_on,
            members=(judge.fingerprint,),
        )

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        """The recorded verdict for this question, by how often it has been asked.

        Raises:
            JudgeSetupError: The log was written on another registry.
            JudgeError: The question was not asked so often then, or its judge failed then.
        """
        if registry.digest != self._registry_digest:
            raise JudgeSetupError("the replayed log was written on another registry")
        occurrence = self._asked[question]
        self._asked[question] += 1
        recorded = self._recorded.get(question, [])
        if occurrence >= len(recorded):
            raise JudgeError(
                f"the replayed log has {len(recorded)} verdicts on this question, and it is asked "
                f"for the {occurrence + 1}. time",
                error_class="replay_miss",
            )
        entry = recorded[occurrence]
        if entry.verdict is None:
            error = entry.error
            assert error is not None  # noqa: S101  # entries without either are not kept
            raise JudgeError(
                f"failed when it was recorded: {error.cause}", error_class=error.class_
            )
        return _replayed(entry.verdict, self.fingerprint.digest)


def _replayed(recorded: _Verdict, fingerprint: str) -> Verdict:
    return Verdict(
        blocker_id=recorded.blocker_id,
        reason=recorded.reason,
        confidence=recorded.confidence,
        raw=recorded.raw,
        attempts=0,
        source="replay",
        fingerprint=fingerprint,
        flags=tuple(recorded.flags),
        members=tuple(_replayed(member, member.fingerprint) for member in recorded.members),
    )


def _fields(line: bytes) -> dict[str, object]:
    value: object = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004  # told apart by nobody
    return cast("dict[str, object]", value)
