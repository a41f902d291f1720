"""The trained decision over an embedded question and an embedded registry.

Two small models: the form head tells a question from what only looks like one, and the pair head,
which sees what the first one said, tells which blocker it is about. Weights come from
`scripts/train_embedded_judge.py`.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from judge.errors import JudgeSetupError
from judge.guard import speaks_to_the_judge
from judge.pair_features import WordWeights, pair_features
from judge.question_form import asks, is_injection, skeleton

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from judge.embedded_registry import EmbeddedBlocker, EmbeddedQuestion
    from judge.verdict import RegistryView

Form = Literal["question", "statement", "multi_topic", "generic", "injection"]
FORMS: tuple[Form, ...] = ("question", "statement", "multi_topic", "generic", "injection")
_FLOOR = 1e-4
# A form as probable as this is no question, however near a blocker it is. An injection that matches
# costs more than a question turned away; out of fold no matching question comes near this.
_INJECTION_VETO = 0.35
# An injection this probable is told to whoever reads the log; short of it a message is merely odd.
# Out of fold no message that is none reaches this.
_INJECTION_SUSPECTED = 0.8
_GENERIC_VETO = 0.8
_STATEMENT_VETO = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Weights of one fit; arrays are single precision."""

    vocabulary: Mapping[str, int]
    """Skeleton to its row of `form_weights`."""
    form_mean: NDArray[np.float32]
    form_scale: NDArray[np.float32]
    form_weights: NDArray[np.float32]
    """Rows: bias, form features, embedding, vocabulary; a column a form."""
    words: WordWeights
    pair_mean: NDArray[np.float32]
    pair_scale: NDArray[np.float32]
    pair_hidden: NDArray[np.float32]
    """Shape (members, features + 1, hidden): the last row is the bias."""
    pair_output: NDArray[np.float32]
    """Shape (members, hidden + 1)."""
    calibration: NDArray[np.float32]
    """Slope and intercept on the log odds."""

    def forms(self, question: EmbeddedQuestion) -> NDArray[np.float32]:
        """Probability of each of `FORMS`."""
        form = (question.form - self.form_mean) / self.form_scale
        dense = np.concatenate([[1.0], form, question.vector])
        logits = dense @ self.form_weights[: len(dense)]
        known = [self.vocabulary[s] for s in skeleton(question.text) if s in self.vocabulary]
        logits = logits + self.form_weights[[len(dense) + row for row in known]].sum(axis=0)
        exps = np.exp(logits - logits.max())
        return (exps / exps.sum()).astype(np.float32)

    def features(
        self, question: EmbeddedQuestion, blockers: Sequence[EmbeddedBlocker]
    ) -> NDArray[np.float32]:
        """`pair_features` with the log of each form's probability behind, a row a blocker."""
        forms = np.log(np.maximum(self.forms(question), _FLOOR))
        rows = pair_features(question, blockers, self.words)
        return np.column_stack([rows, np.tile(forms, (len(blockers), 1))]).astype(np.float32)

    def raw(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probability of a match for each row of `features`, before calibration."""
        scaled = (features - self.pair_mean) / self.pair_scale
        hidden = np.tanh(scaled @ self.pair_hidden[:, :-1] + self.pair_hidden[:, -1:])
        logits = np.einsum("mrh,mh->mr", hidden, self.pair_output[:, :-1])
        logits = (logits + self.pair_output[:, -1:]).mean(axis=0)
        return (1 / (1 + np.exp(-logits))).astype(np.float32)

    def calibrated(self, raw: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map `raw` to probabilities that hold in the long run."""
        bounded = np.clip(raw, _FLOOR, 1 - _FLOOR)
        logits = self.calibration[0] * np.log(bounded / (1 - bounded)) + self.calibration[1]
        return (1 / (1 + np.exp(-logits))).astype(np.float32)

    def veto(self, question: EmbeddedQuestion) -> Form | None:
        """The form for which the question is turned away, or None."""
        _, statement, _, generic, injection = self.forms(question)
        if _orders_the_judge(question.text) or injection > _INJECTION_VETO:
            return "injection"
        if generic > _GENERIC_VETO:
            return "generic"
        if statement > _STATEMENT_VETO and not asks(question.text):
            return "statement"
        return None

    def suspects_injection(self, question: EmbeddedQuestion) -> bool:
        """Whether a question that `veto` turns away is to be flagged as an injection."""
        if _orders_the_judge(question.text):
            return True
        return float(self.forms(question)[FORMS.index("injection")]) > _INJECTION_SUSPECTED


def _orders_the_judge(text: str) -> bool:
    return is_injection(text) or speaks_to_the_judge(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadFile:
    """What ships: the head fitted to everything, and one for each fold that never saw its tasks."""

    digest: str
    """SHA-256 of the file of weights."""
    thresholds: tuple[float, ...]
    """Lowest calibrated probability of a match, by each of `heads`; a fold's is chosen without its
    tasks."""
    trained_on: tuple[str, ...]
    """Ids of all tasks, sorted."""
    folds: tuple[tuple[str, ...], ...]
    """The tasks held out of each fold's head."""
    blockers: Mapping[str, str]
    """`description_key` of each blocker trained on, to its task."""
    heads: tuple[Head, ...]
    """The shipped head, then the folds' in order."""

    def held_out(self, task_id: str, registry: RegistryView) -> int:
        """Index in `heads` of one that never saw this task, under whatever id it was imported."""
        keys = (description_key(blocker.description) for blocker in registry.blockers)
        known_as = {task_id, *(self.blockers[key] for key in keys if key in self.blockers)}
        return next((i for i, tasks in enumerate(self.folds, 1) if known_as & set(tasks)), 0)

    def tasks_of(self, head: int) -> tuple[str, ...]:
        """The tasks that a head was fitted to."""
        unseen = self.folds[head - 1] if head else ()
        return tuple(task for task in self.trained_on if task not in unseen)


def description_key(description: str) -> str:
    """Names a blocker by what it says, without regard to case and blanks; 16 hex digits."""
    return hashlib.sha256(" ".join(description.casefold().split()).encode()).hexdigest()[:16]


PIECE_WEIGHTS = "piece_weights"
"""Name of the array of word pieces' weights beside `ARRAYS`."""
ARRAYS = (
    "form_mean",
    "form_scale",
    "form_weights",
    "pair_mean",
    "pair_scale",
    "pair_hidden",
    "pair_output",
    "calibration",
)


def read_heads(weights_path: Path) -> HeadFile:
    """Read `head.npz` and the `head.json` beside it.

    Raises:
        JudgeSetupError: One of them is missing, damaged, or from another fit.
    """
    try:
        data = weights_path.read_bytes()
        about = json.loads(weights_path.with_suffix(".json").read_text(encoding="utf-8"))
        heads = _heads(data, about)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as exc:
        raise JudgeSetupError(
            f"embedded judge: {weights_path} cannot be used ({exc}): install hil-mcp again"
        ) from exc
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise JudgeSetupError(
            f"embedded judge: {weights_path} and the .json beside it are of different fits: "
            "install hil-mcp again"
        )
    return HeadFile(
        digest=about["sha256"],
        thresholds=tuple(about["thresholds"]),
        trained_on=tuple(about["trained_on"]),
        folds=tuple(tuple(tasks) for tasks in about["folds"]),
        blockers={key: task for task, keys in about["blockers"].items() for key in keys},
        heads=heads,
    )


def _heads(data: bytes, about: Mapping[str, Any]) -> tuple[Head, ...]:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return tuple(
            Head(
                vocabulary={s: row for row, s in enumerate(about["vocabularies"][index])},
                words=WordWeights(
                    **about["words"][index],
                    pieces=arrays[f"{PIECE_WEIGHTS}_{index}"].astype(np.float32),
                ),
                **{name: arrays[f"{name}_{index}"].astype(np.float32) for name in ARRAYS},
            )
            for index in range(len(about["folds"]) + 1)
        )
