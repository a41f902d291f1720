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
    n = np.array([len(b.examples) for b in blockers], np.float32)
    starts = np.cumsum([0, *(len(b.examples) for b in blockers[:-1])])
    examples = np.concatenate([b.examples for b in blockers])
    descriptions = np.stack([b.description for b in blockers])
    resolutions = np.stack([b.resolution for b in blockers])

    def mean_of(each: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray((np.add.reduceat(each, starts).T / n).T, np.float32)

    def highest_of(each: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.maximum.reduceat(each, starts)

    centres = _unit(mean_of(examples) + descriptions)
    # One blocker more, at nought, so that a lone blocker is not its own mean.
    mean = centres.sum(axis=0) / (len(blockers) + 1)
    asked = _unit(question - mean)
    of_examples, of_descriptions = _unit(examples - mean), _unit(descriptions - mean)
    near = of_examples @ asked
    centre = _unit(_unit(mean_of(of_examples)) + of_descriptions)
    # How alike the blocker's own texts are: a question need not be nearer than they are.
    texts = np.add.reduceat(examples, starts) + descriptions
    alike = (np.square(texts).sum(axis=1) - (n + 1)) / (np.square(n + 1) - (n + 1))
    plain = examples @ question
    described = (examples * np.repeat(descriptions, n.astype(int), axis=0)).sum(axis=1)
    return np.column_stack(
        [
            highest_of(near),
            mean_of(near),
            of_descriptions @ asked,
            _unit(resolutions - mean) @ asked,
            centre @ asked,
            mean_of(plain) - alike,
            highest_of(plain) - alike,
            descriptions @ question - mean_of(described),
            np.full(len(blockers), question @ _unit(mean)),
        ]
    ).astype(np.float32)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), _TINY)
