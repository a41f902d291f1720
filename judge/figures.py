"""How good a judge is, from what it said to labelled pairs. Pure functions of the verdicts.

A match is right when it names the blocker that the label names. Pairs on which the judge failed are
left out of every share and counted apart: a failure is not a "no".
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judge.errors import JudgeError
from judge.intervals import Share, f1_of
from judge.pairs import shown_registry
from judge.rubric import tags_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from judge.evaluate import Judged
    from judge.verdict import RegistryView

PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Precision, recall and F1 over some pairs."""

    n: int
    matched: int
    """Pairs on which the judge named a blocker."""
    right: int
    """Matches that name the expected blocker."""
    expected: int
    """Pairs whose label names a blocker."""

    @property
    def precision(self) -> Share:
        """Right matches among matches."""
        return Share(part=self.right, whole=self.matched)

    @property
    def recall(self) -> Share:
        """Right matches among pairs that name a blocker."""
        return Share(part=self.right, whole=self.expected)

    @property
    def jaccard(self) -> Share:
        """Right matches among right, false and missed ones; F1 follows from it."""
        return Share(part=self.right, whole=self.matched + self.expected - self.right)

    @property
    def f1(self) -> float | None:
        """2 right / (matched + expected)."""
        return f1_of(self.jaccard)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFigures:
    """One kind of pair, or one type of blocker."""

    n: int
    matched: int
    correct: int
    """Verdicts equal to their label, "no blocker" included."""

    @property
    def share(self) -> Share:
        """Correct among all."""
        return Share(part=self.correct, whole=self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One pair on which judge and label differ."""

    task: str
    question: str
    kind: str
    expected: str | None
    got: str | None
    reason: str
    confidence: float | None
    tags: Sequence[str]
    """What of the question may explain it; see `judge.rubric`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One answer that was none."""

    place: int
    """Of the pair among the pairs, from 1."""
    asking: int
    """Which time of its question, from 1."""
    task: str
    question: str
    error_class: str
    """As in `JudgeError`."""
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreached:
    """A blocker that none of its example questions reached."""

    task: str
    blocker_id: str
    asked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdPoint:
    """Precision and recall if only matches of at least this confidence counted."""

    threshold: float
    precision: float
    recall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything that one evaluation says of a judge."""

    quality: Quality
    failed: int
    """Pairs whose first answer was a failure: only their later answers count, in `flips`,
    `latency_ms` and `tokens`."""
    failures: Sequence[Failure]
    """Of all repeats, in the order of the pairs."""
    by_kind: dict[str, KindFigures]
    by_type: dict[str, KindFigures]
    """By the type of the expected blocker, over pairs that have one."""
    repeats: int
    flips: Share | None
    """Pairs whose verdict differs between repeats, among those with two verdicts or more; None when
    asked once."""
    latency_ms: dict[int, float]
    """Percentile -> milliseconds, over all answers for which the judge did its work: none from a
    cache, a log or the guard."""
    tokens: int | None
    """Prompt and completion tokens of all answers; None when none were reported."""
    unreached: Sequence[Unreached]
    disagreements: Sequence[Disagreement]
    curve: Sequence[ThresholdPoint]
    """From the lowest threshold to the highest; empty without confidences."""

    @property
    def failed_answers(self) -> int:
        """Failures over all repeats."""
        return len(self.failures)


def figures_of(judged: Sequence[Judged], registry_of: Callable[[str], RegistryView]) -> Figures:
    """Work out all figures.

    Args:
        judged: Pairs with their answers.
        registry_of: A task's registry, for types and tags.
    """
    kept = [one for one in judged if one.verdict is not None]
    verdicts = [
        answer for one in judged for answer in one.answers if not isinstance(answer, JudgeError)
    ]
    tokens = [verdict.tokens for verdict in verdicts if verdict.tokens is not None]
    repeats = max((len(one.answers) for one in judged), default=0)
    return Figures(
        quality=quality_of(kept),
        failed=len(judged) - len(kept),
        failures=_failures(judged),
        by_kind=_grouped(kept, lambda one: one.pair.kind),
        by_type=_grouped(kept, lambda one: _type_of(one, registry_of)),
        repeats=repeats,
        flips=_flips(judged) if repeats > 1 else None,
        latency_ms=percentiles(
            [v.latency_ms for v in verdicts if v.attempts and v.source == "judge"]
        ),
        tokens=sum(tokens) if tokens else None,
        unreached=_unreached(kept),
        disagreements=[_disagreement(one, registry_of) for one in kept if not _is_correct(one)],
        curve=_curve(kept),
    )


def quality_of(judged: Iterable[Judged]) -> Quality:
    """Count matches; failed pairs must have been left out."""
    rows = list(judged)
    return Quality(
        n=len(rows),
        matched=sum(_got(one) is not None for one in rows),
        right=sum(_got(one) is not None and _is_correct(one) for one in rows),
        expected=sum(one.pair.expected is not None for one in rows),
    )


def percentiles(values: Sequence[float]) -> dict[int, float]:
    """Nearest-rank percentiles; empty without values."""
    ordered = sorted(values)
    if not ordered:
        return {}
    return {p: ordered[max(0, math.ceil(len(ordered) * p / 100) - 1)] for p in PERCENTILES}


def _failures(judged: Sequence[Judged]) -> list[Failure]:
    return [
        Failure(
            place=place,
            asking=asking,
            task=one.pair.task,
            question=one.pair.question,
            error_class=answer.error_class,
            cause=str(answer),
        )
        for place, one in enumerate(judged, start=1)
        for asking, answer in enumerate(one.answers, start=1)
        if isinstance(answer, JudgeError)
    ]


def _got(one: Judged) -> str | None:
    return None if one.verdict is None else one.verdict.blocker_id


def _flips(judged: Iterable[Judged]) -> Share:
    repeated = [one for one in judged if one.n_verdicts > 1]
    return Share(part=sum(one.is_flipped for one in repeated), whole=len(repeated))


def _is_correct(one: Judged) -> bool:
    return _got(one) == one.pair.expected


def _grouped(
    judged: Sequence[Judged], key: Callable[[Judged], str | None]
) -> dict[str, KindFigures]:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        name = key(one)
        if name is not None:
            groups[name].append(one)
    return {
        name: KindFigures(
            n=len(rows),
            matched=sum(_got(one) is not None for one in rows),
            correct=sum(_is_correct(one) for one in rows),
        )
        for name, rows in sorted(groups.items())
    }


def _type_of(one: Judged, registry_of: Callable[[str], RegistryView]) -> str | None:
    if one.pair.expected is None:
        return None
    blockers = registry_of(one.pair.task).blockers
    return next((b.type for b in blockers if b.blocker_id == one.pair.expected), None)


def _unreached(judged: Sequence[Judged]) -> list[Unreached]:
    asked: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in judged:
        if one.pair.expected is not None:
            asked[one.pair.task, one.pair.expected].append(_is_correct(one))
    return [
        Unreached(task=task, blocker_id=blocker_id, asked=len(hits))
        for (task, blocker_id), hits in asked.items()
        if not any(hits)
    ]


def _disagreement(one: Judged, registry_of: Callable[[str], RegistryView]) -> Disagreement:
    verdict, pair = one.verdict, one.pair
    return Disagreement(
        task=pair.task,
        question=pair.question,
        kind=pair.kind,
        expected=pair.expected,
        got=_got(one),
        reason=verdict.reason if verdict else "",
        confidence=verdict.confidence if verdict else None,
        tags=tags_of(pair.question, shown_registry(registry_of(pair.task), pair)),
    )


def _curve(judged: Sequence[Judged]) -> list[ThresholdPoint]:
    expected = sum(one.pair.expected is not None for one in judged)
    matches = sorted(
        (one.verdict.confidence, _is_correct(one))
        for one in judged
        if one.verdict and one.verdict.blocker_id is not None and one.verdict.confidence is not None
    )
    points: list[ThresholdPoint] = []
    right = sum(is_right for _, is_right in matches)
    for place, (confidence, is_right) in enumerate(matches):
        if expected and (place == 0 or confidence != matches[place - 1][0]):
            points.append(
                ThresholdPoint(
                    threshold=confidence,
                    precision=right / (len(matches) - place),
                    recall=right / expected,
                )
            )
        right -= is_right
    return points
