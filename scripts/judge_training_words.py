"""How telling words and word pieces are: the rarer in the texts of registries, the more."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from judge.embedder import WORD_PIECES
from judge.pair_features import WordWeights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from judge_training_data import Registry


def word_weights(registries: Iterable[Registry]) -> WordWeights:
    """Weights from every text of some registries."""
    kept = list(registries)
    texts = [words for registry in kept for words in _words(registry)]
    counts = Counter(word for words in texts for word in words)
    known = {
        w: round(math.log((len(texts) + 1) / (n + 1)), 3)
        for w, n in sorted(counts.items())
        if n > 1
    }
    found = np.zeros(WORD_PIECES, np.float32)
    for registry in kept:
        for blocker in registry.blockers:
            for text in blocker.texts:
                found[np.unique(text.pieces)] += 1
    pieces = np.log((len(texts) + 1) / (found + 0.5))
    pieces[found == 0] = math.log(len(texts) + 1)
    unseen = round(math.log((len(texts) + 1) / 2), 3)
    return WordWeights(known, unseen, pieces.astype(np.float16).astype(np.float32))


def _words(registry: Registry) -> Iterator[frozenset[str]]:
    for b in registry.blockers:
        yield from (*b.example_words, b.description_words, b.resolution_words)
