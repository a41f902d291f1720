"""What heads say to items that they never saw: calibration, threshold and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from judge_training_fit import fit_calibration

from judge.head import FORMS, Head

if TYPE_CHECKING:
    from judge_training_data import Item
    from numpy.typing import NDArray

# Half a point above the precision that is wanted of tasks nobody has seen.
_PRECISION_AIMED_AT = 0.965
_MOST_FALSE = {"statement": 0.02, "multi_topic": 0.02, "generic": 0.02, "injection": 0.0}
"""Share of each kind that may match."""
_THRESHOLDS = [round(0.5 + step / 100, 2) for step in range(45)]


@dataclass(frozen=True)
class Scored:
    """The best blocker of one item, with its raw score from a head that never saw the item."""

    item: Item
    raw: float
    picked: str
    vetoed: bool

    @property
    def right(self) -> bool:
        return self.picked == self.item.expected


def score(head: Head, items: list[Item]) -> list[Scored]:
    """Each item's best blocker; 0 for a form that is turned away."""
    found: list[Scored] = []
    for item in items:
        raw = head.raw(head.features(item.question, item.blockers))
        best = int(raw.argmax())
        veto = head.veto(item.question) is not None
        found.append(
            Scored(item, 0.0 if veto else float(raw[best]), item.blockers[best].blocker_id, veto)
        )
    return found


def calibrate(found: list[Scored]) -> NDArray[np.float32]:
    """Calibration over the shared items alone: the hard items are not drawn as questions come."""
    own = [s for s in found if not s.item.hard and not s.vetoed]
    return fit_calibration(np.array([s.raw for s in own]), np.array([s.right for s in own]))


def probabilities(head: Head, found: list[Scored]) -> NDArray[np.float32]:
    """By the calibration of `head`; 0 where the form is turned away."""
    chances = head.calibrated(np.array([s.raw for s in found]))
    return np.where([s.vetoed for s in found], 0, chances).astype(np.float32)


def choose_threshold(found: list[Scored], probability: NDArray[np.float32]) -> float:
    """The lowest threshold from which on precision and false matches keep within their limits.

    Precision is that of the shared items; false matches are limited for each kind of misshapen
    question, among the shared and among the hand-written items apart.
    """
    right = np.array([s.right for s in found])
    hard = np.array([s.item.hard for s in found])
    kinds = np.array([s.item.kind for s in found])
    limits = [
        (group, share * group.sum())
        for kind, share in _MOST_FALSE.items()
        for group in ((kinds == kind) & hard, (kinds == kind) & ~hard)
    ]
    chosen = _THRESHOLDS[-1]
    for threshold in reversed(_THRESHOLDS):
        matched = probability >= threshold
        precision = right[matched & ~hard].sum() / max(1, (matched & ~hard).sum())
        if precision < _PRECISION_AIMED_AT or any(
            matched[group].sum() > most for group, most in limits
        ):
            return chosen
        chosen = threshold
    return chosen


def report(title: str, found: list[Scored], matched: NDArray[np.bool_]) -> None:
    """Print precision, recall and false matches by kind."""
    right = np.array([s.right for s in found]) & matched
    expected = sum(s.item.expected is not None for s in found)
    kinds: dict[str, dict[str, int]] = {}
    for s, m in zip(found, matched, strict=True):
        counts = kinds.setdefault(s.item.kind, {"n": 0, "matched": 0, "false": 0})
        counts["n"] += 1
        counts["matched"] += int(m)
        counts["false"] += int(m and not s.right)
    precision, recall = right.sum() / max(1, matched.sum()), right.sum() / max(1, expected)
    print(f"{title}: precision {precision:.4f} recall {recall:.4f}")
    for kind, counts in kinds.items():
        print(f"  {kind:12} {counts}")


def calibration_error(found: list[Scored], probability: NDArray[np.float32]) -> float:
    """Mean gap between probability and outcome over ten equal bins, weighted by their sizes."""
    right = np.array([s.right for s in found])
    bins = np.minimum((probability * 10).astype(int), 9)
    return float(
        sum(
            abs(probability[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean()
            for b in range(10)
            if (bins == b).any()
        )
    )


def describe(scored: Scored, probability: float, head: Head) -> str:
    """One item in two lines, with what the head makes of its form."""
    item = scored.item
    forms = " ".join(f"{f}={p:.2f}" for f, p in zip(FORMS, head.forms(item.question), strict=True))
    origin = "hand-written" if item.hard else "pair"
    return (
        f"{origin} {item.kind} {item.task} expected={item.expected} picked={scored.picked} "
        f"p={probability:.2f} raw={scored.raw:.2f} {forms}\n    {item.question.text}\n"
    )
