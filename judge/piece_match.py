"""How well the word pieces of a question are met by those of a blocker's texts.

Pooled vectors blur the one word by which two blockers of a task differ; here each piece of the
question looks for its like in every text, and each text for its own in the question.
"""

from __future__ import annotations

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
    whole = own / own.sum()
    rare = own >= np.sort(own)[-_RARE:][0]
    forth, back = _match(question, [text for texts in blockers for text in texts], weights)
    ends = np.cumsum([len(texts) for texts in blockers])
    of_blockers = [slice(end - len(texts), end) for end, texts in zip(ends, blockers, strict=True)]
    rows = [_similarities(forth[part], back[part], whole, rare) for part in of_blockers]
    asked = np.stack([forth[part][:-1].max(axis=0) for part in of_blockers])
    best = asked.max(axis=0)
    lost = best - asked
    return np.column_stack(
        [
            np.array(rows, np.float32),
            lost @ whole,
            lost.max(axis=1),
            np.full(len(blockers), (best < _MET) @ whole),
        ]
    ).astype(np.float32)


def _match(
    question: EmbeddedText, texts: Sequence[EmbeddedText], weights: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How near a question and texts come to each other, piece by piece.

    Returns:
        Of each text and piece of the question the nearest cosine, shape (texts, pieces), and of
        each text the weighted mean of its own pieces' nearest cosines, shape (texts,).
    """
    starts = np.cumsum([0, *(len(text.pieces) for text in texts[:-1])])
    theirs = weights[np.concatenate([text.pieces for text in texts])] + _TINY
    cosines = _cosines(np.concatenate([text.states for text in texts]), question.states)
    back = np.add.reduceat(cosines.max(axis=1) * theirs, starts) / np.add.reduceat(theirs, starts)
    return np.maximum.reduceat(cosines, starts, axis=0), back.astype(np.float32)


def _cosines(theirs: NDArray[np.float16], ours: NDArray[np.float16]) -> NDArray[np.float32]:
    question = ours.astype(np.float32).T
    rows = max(1, _STEPS_OF_ONE_THREAD // ours.size)
    parts = [theirs[at : at + rows].astype(np.float32) for at in range(0, len(theirs), rows)]
    return np.concatenate([part @ question for part in parts])


def _similarities(
    forth: NDArray[np.float32],
    back: NDArray[np.float32],
    whole: NDArray[np.float32],
    rare: NDArray[np.bool_],
) -> list[float]:
    """Of one blocker's texts: examples, description, resolution, in this order."""
    nearest, description = forth[:-2].max(axis=0), forth[-2]
    asked = np.maximum(nearest, description)
    all_texts = np.maximum(asked, forth[-1])
    there = forth @ whole
    return [
        float(nearest @ whole),
        float(there[-2]),
        float(there[-1]),
        float(all_texts @ whole),
        float(there[:-2].max()),
        float(there[:-2].mean()),
        float(back[:-2].max()),
        float(back[:-2].mean()),
        float(back[-2]),
        float((there + back)[:-2].max() / 2),
        float(asked[rare].min()),
        float(asked[rare].mean()),
        float((asked < _MET) @ whole),
        float(np.sort(all_texts)[:2].mean()),
    ]
