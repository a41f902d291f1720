"""What the trained head sees of one question and each blocker of a registry.

Used by the judge and by its training alike. No feature tells how many example questions a blocker
has: in pairs that hide an example the number alone would give the label away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judge.question_form import clauses, content_words, form_features

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from judge.verdict import BlockerView

    Encode = Callable[[Sequence[str]], NDArray[np.float32]]

_ALONE = 0.3
# What a blocker is compared with when it is the only one of its registry.


@dataclass(frozen=True, slots=True)
class WordWeights:
    """How telling a shared word is: the rarer in the texts of the fit, the more."""

    known: Mapping[str, float]
    unseen: float

    def total(self, words: frozenset[str]) -> float:
        """Sum of the weights of some words, in no order that depends on hashing."""
        return math.fsum(self.known.get(word, self.unseen) for word in words)


@dataclass(frozen=True, slots=True)
class EmbeddedBlocker:
    """One blocker as vectors and words; vectors have unit length."""

    blocker_id: str
    examples: NDArray[np.float32]
    """Shape (n, width), n at least 1: the description stands in where there is no example."""
    description: NDArray[np.float32]
    resolution: NDArray[np.float32]
    example_words: tuple[frozenset[str], ...]
    description_words: frozenset[str]
    resolution_words: frozenset[str]

    def keeping(self, examples: Sequence[int]) -> EmbeddedBlocker:
        """The same with only some examples, or with its description if there are none."""
        return EmbeddedBlocker(
            self.blocker_id,
            self.examples[list(examples)] if examples else self.description[None, :],
            self.description,
            self.resolution,
            tuple(self.example_words[i] for i in examples) or (self.description_words,),
            self.description_words,
            self.resolution_words,
        )


@dataclass(frozen=True, slots=True)
class EmbeddedQuestion:
    """One question as vectors, words and form."""

    text: str
    vector: NDArray[np.float32]
    clause_vectors: NDArray[np.float32]
    """Shape (n, width); the question itself where it has one clause only."""
    words: frozenset[str]
    form: NDArray[np.float32]


def clean_example(text: str) -> str:
    """An example question without the bullet that repository registries put before it."""
    return text.lstrip("-•* \t\n").rstrip()


def embed_question(text: str, encode: Encode) -> EmbeddedQuestion:
    """Embed a question and its clauses in one call of `encode`, at most five texts."""
    parts = clauses(text)
    vectors = encode([text, *parts])
    form = np.array(form_features(text), np.float32)
    rest = vectors[1:] if parts else vectors
    return EmbeddedQuestion(text, vectors[0], rest, content_words(text), form)


def embed_blockers(blockers: Sequence[BlockerView], encode: Encode) -> list[EmbeddedBlocker]:
    """Embed a registry in one call of `encode`."""
    examples = [
        [clean_example(text) for text in b.example_questions if text.strip()] or [b.description]
        for b in blockers
    ]
    texts = [
        text
        for b, questions in zip(blockers, examples, strict=True)
        for text in (b.description, b.resolution, *questions)
    ]
    vectors = iter(encode(texts))
    return [
        EmbeddedBlocker(
            blocker_id=b.blocker_id,
            description=next(vectors),
            resolution=next(vectors),
            examples=np.stack([next(vectors) for _ in questions]),
            example_words=tuple(content_words(text) for text in questions),
            description_words=content_words(b.description),
            resolution_words=content_words(b.resolution),
        )
        for b, questions in zip(blockers, examples, strict=True)
    ]


def pair_features(
    question: EmbeddedQuestion, blockers: Sequence[EmbeddedBlocker], weights: WordWeights
) -> NDArray[np.float32]:
    """Features of a question against each blocker, shape (len(blockers), width of a row)."""
    rows = np.array([_similarities(question, b, weights) for b in blockers], np.float32)
    return np.column_stack(
        [
            rows,
            *(_margin(rows[:, column]) for column in (0, 1, 4, 5, 8, 11)),
            _clause_features(question, blockers),
            np.tile(question.form, (len(blockers), 1)),
        ]
    ).astype(np.float32)


def _similarities(
    question: EmbeddedQuestion, blocker: EmbeddedBlocker, weights: WordWeights
) -> list[float]:
    def share(ours: frozenset[str], theirs: frozenset[str]) -> float:
        total = weights.total(ours)
        return weights.total(ours & theirs) / total if total else 0.0

    near = np.sort(blocker.examples @ question.vector)[::-1]
    centre = blocker.examples.mean(axis=0)
    cohesion = float(np.linalg.norm(centre))
    description = float(blocker.description @ question.vector)
    words = question.words
    every = blocker.description_words.union(*blocker.example_words)
    return [
        float(near[0]),
        float(near.mean()),
        float(near[:2].mean()),
        float(near[-1]),
        float(centre @ question.vector) / cohesion,
        description,
        float(blocker.resolution @ question.vector),
        max(float(near[0]), description),
        max(share(words, example) for example in blocker.example_words),
        max(share(example, words) for example in blocker.example_words),
        share(words, blocker.description_words),
        share(words, every),
        share(words, blocker.resolution_words),
        float((blocker.examples @ blocker.description).max()),
        float(near[0]) * share(words, every),
        float(near[0]) ** 2,
        description**2,
        share(words, every | blocker.resolution_words),
    ]


def _margin(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """How far each value is above the highest of the others."""
    if len(values) == 1:
        return values - _ALONE
    others = np.full(values.shape, values.max(), np.float32)
    best = int(values.argmax())
    others[best] = np.delete(values, best).max()
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
