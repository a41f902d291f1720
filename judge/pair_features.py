"""What the trained head sees of one question and each blocker of a registry.

Used by the judge and by its training alike. No feature tells how many example questions a blocker
has: in pairs that hide an example the number alone would give the label away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judge.piece_match import piece_features
from judge.registry_contrast import contrast_features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from judge.embedded_registry import EmbeddedBlocker, EmbeddedQuestion

_ALONE = 0.3
# What a blocker is compared with when it is the only one of its registry.


@dataclass(frozen=True, slots=True)
class WordWeights:
    """How telling a shared word is: the rarer in the texts of the fit, the more."""

    known: Mapping[str, float]
    unseen: float
    pieces: NDArray[np.float32]
    """The same of word pieces, by their ids."""

    def total(self, words: frozenset[str]) -> float:
        """Sum of the weights of some words, in no order that depends on hashing."""
        return math.fsum(self.known.get(word, self.unseen) for word in words)


def pair_features(
    question: EmbeddedQuestion, blockers: Sequence[EmbeddedBlocker], weights: WordWeights
) -> NDArray[np.float32]:
    """Features of a question against each blocker, shape (len(blockers), width of a row)."""
    rows = np.array([_similarities(question, b, weights) for b in blockers], np.float32)
    contrast = contrast_features(question.vector, blockers)
    pieces = piece_features(question.whole, [b.texts for b in blockers], weights.pieces)
    return np.column_stack(
        [
            rows,
            _margins(rows[:, (0, 1, 4, 5, 8, 11)]),
            contrast,
            _margins(contrast[:, (0, 1, 2, 4)]),
            pieces,
            _margins(pieces[:, (0, 1, 3, 4, 6, 9, 11)]),
            _clause_features(question, blockers),
            np.tile(question.form, (len(blockers), 1)),
        ]
    ).astype(np.float32)


def _similarities(
    question: EmbeddedQuestion, blocker: EmbeddedBlocker, weights: WordWeights
) -> list[float]:
    words, asked = question.words, weights.total(question.words)

    def of_question(theirs: frozenset[str]) -> float:
        return weights.total(words & theirs) / asked if asked else 0.0

    def of_theirs(theirs: frozenset[str]) -> float:
        total = weights.total(theirs)
        return weights.total(theirs & words) / total if total else 0.0

    near = np.sort(blocker.examples @ question.vector)[::-1]
    centre = blocker.examples.mean(axis=0)
    cohesion = float(np.linalg.norm(centre))
    description = float(blocker.description @ question.vector)
    every = blocker.description_words.union(*blocker.example_words)
    in_every = of_question(every)
    return [
        float(near[0]),
        float(near.mean()),
        float(near[:2].mean()),
        float(near[-1]),
        float(centre @ question.vector) / cohesion,
        description,
        float(blocker.resolution @ question.vector),
        max(float(near[0]), description),
        max(map(of_question, blocker.example_words)),
        max(map(of_theirs, blocker.example_words)),
        of_question(blocker.description_words),
        in_every,
        of_question(blocker.resolution_words),
        float((blocker.examples @ blocker.description).max()),
        float(near[0]) * in_every,
        float(near[0]) ** 2,
        description**2,
        of_question(every | blocker.resolution_words),
    ]


def _margins(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """By columns, how far each value is above the highest of the others."""
    if len(values) == 1:
        return values - _ALONE
    highest = np.partition(values, len(values) - 2, axis=0)
    others = np.tile(highest[-1], (len(values), 1))
    others[values.argmax(axis=0), np.arange(values.shape[1])] = highest[-2]
    return values - others


def _clause_features(
    question: EmbeddedQuestion, blockers: Sequence[EmbeddedBlocker]
) -> NDArray[np.float32]:
    """For each blocker, how well its clauses agree on it; shape (len(blockers), 5)."""
    near = np.array(
        [
            np.maximum(
                (question.clause_vectors @ b.examples.T).max(axis=1),
                question.clause_vectors @ b.description,
            )
            for b in blockers
        ]
    )  # (blockers, clauses)
    clear = near.max(axis=0) > 0.4
    topics = len(set(near.argmax(axis=0)[clear].tolist()))
    rows: list[list[float]] = []
    for index, own in enumerate(near):
        rest = np.delete(near, index, axis=0)
        others = rest.max(axis=0) if len(rest) else np.full(own.shape, _ALONE, np.float32)
        strays = int((others - own).argmax())
        rows.append(
            [
                float(own.max()),
                float(own.min()),
                float(others[strays] - own[strays]),
                float(others[strays]),
                float(topics),
            ]
        )
    return np.array(rows, np.float32)
