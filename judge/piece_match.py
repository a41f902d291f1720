"""How well the word pieces of a question are met by those of a blocker's texts.

Pooled vectors blur the one word by which two blockers of a task differ; here each piece of the
question looks for its like in every text, and each text for its own in the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from judge.embedder import EmbeddedText

# A piece whose like is no nearer than this is not met.
_MET = 0.5
_RARE = 5
# OpenBLAS wakes its threads for a product of more steps than this, and they cost four times what
# they save at these sizes, more on a busy machine.
_STEPS_OF_ONE_THREAD = 2**18
_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class _Match:
    """One question against one blocker's texts: examples, description, resolution, in this order.

    Attributes:
        forth: Of each text and piece of the question the nearest cosine, shape (texts, pieces).
        back: Of each text the weighted mean of its pieces' nearest cosines, shape (texts,).
    """

    forth: NDArray[np.float32]
    back: NDArray[np.float32]


def piece_features(
    question: EmbeddedText,
    blockers: Sequence[Sequence[EmbeddedText]],
    weights: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Features of a question's pieces against each blocker's, shape (len(blockers), 17).

    Args:
        question: The question whole.
        blockers: The texts of each: examples, at least one, then description and resolution.
        weights: How telling each word piece is, by its id.
    """
    own = weights[question.pieces] + _TINY
    matches = [_match(question, texts, weights) for texts in blockers]
    rows = np.array([_similarities(match, own) for match in matches], np.float32)
    asked = np.stack([match.forth[:-1].max(axis=0) for match in matches])
    best = asked.max(axis=0)
    lost = best - asked
    return np.column_stack(
        [
            rows,
            lost @ own / own.sum(),
            lost.max(axis=1),
            np.full(len(blockers), (best < _MET) @ own / own.sum()),
        ]
    ).astype(np.float32)


def _match(
    question: EmbeddedText, texts: Sequence[EmbeddedText], weights: NDArray[np.float32]
) -> _Match:
    starts = np.cumsum([0, *(len(text.pieces) for text in texts[:-1])])
    states = np.concatenate([text.states for text in texts])
    theirs = weights[np.concatenate([text.pieces for text in texts])] + _TINY
    cosines = _cosines(states, question.states.astype(np.float32))
    back = np.add.reduceat(cosines.max(axis=1) * theirs, starts) / np.add.reduceat(theirs, starts)
    return _Match(np.maximum.reduceat(cosines, starts, axis=0), back.astype(np.float32))


def _cosines(theirs: NDArray[np.float16], ours: NDArray[np.float32]) -> NDArray[np.float32]:
    rows = max(1, _STEPS_OF_ONE_THREAD // ours.size)
    parts = [theirs[at : at + rows].astype(np.float32) for at in range(0, len(theirs), rows)]
    return np.concatenate([part @ ours.T for part in parts])


def _similarities(match: _Match, own: NDArray[np.float32]) -> list[float]:
    whole = own / own.sum()
    rare = own >= np.sort(own)[-_RARE:][0]
    examples, description = match.forth[:-2], match.forth[-2]
    nearest = examples.max(axis=0)
    asked = np.maximum(nearest, description)
    all_texts = match.forth.max(axis=0)
    forth, back = match.forth @ whole, match.back
    return [
        float(nearest @ whole),
        float(forth[-2]),
        float(forth[-1]),
        float(all_texts @ whole),
        float(forth[:-2].max()),
        float(forth[:-2].mean()),
        float(back[:-2].max()),
        float(back[:-2].mean()),
        float(back[-2]),
        float((forth + back)[:-2].max() / 2),
        float(asked[rare].min()),
        float(asked[rare].mean()),
        float((asked < _MET) @ whole),
        float(np.sort(all_texts)[:2].mean()),
    ]
