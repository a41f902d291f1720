"""What sets a blocker apart from the rest of its registry.

All texts of a task speak of the same things, so their vectors are alike from the start. With the
task's own mean taken away, what is left is what a blocker and a question are about within the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from judge.embedded_registry import EmbeddedBlocker

_TINY = 1e-6


def contrast_features(
    question: NDArray[np.float32], blockers: Sequence[EmbeddedBlocker]
) -> NDArray[np.float32]:
    """Features of a question's vector against each blocker, shape (len(blockers), 9)."""
    centres = np.stack([_unit(b.examples.mean(axis=0) + b.description) for b in blockers])
    # One blocker more, at nought, so that a lone blocker is not its own mean.
    mean = centres.sum(axis=0) / (len(blockers) + 1)
    near = float(question @ _unit(mean))
    return np.array([[*_similarities(question, b, mean), near] for b in blockers], np.float32)


def _similarities(
    question: NDArray[np.float32], blocker: EmbeddedBlocker, mean: NDArray[np.float32]
) -> list[float]:
    asked = _unit(question - mean)
    examples = _unit(blocker.examples - mean)
    description = _unit(blocker.description - mean)
    near = examples @ asked
    centre = _unit(_unit(examples.mean(axis=0)) + description)
    # How alike the blocker's own texts are: a question need not be nearer than they are.
    texts = np.vstack([blocker.examples, blocker.description])
    alike = float(
        (np.square(texts.sum(axis=0)).sum() - len(texts)) / (len(texts) ** 2 - len(texts))
    )
    plain = blocker.examples @ question
    return [
        float(near.max()),
        float(near.mean()),
        float(description @ asked),
        float(_unit(blocker.resolution - mean) @ asked),
        float(centre @ asked),
        float(plain.mean()) - alike,
        float(plain.max()) - alike,
        float(blocker.description @ question - (blocker.examples @ blocker.description).mean()),
    ]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), _TINY)
