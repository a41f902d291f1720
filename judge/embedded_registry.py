"""A question and a registry as the encoder sees them, with the words that carry their topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from judge.question_form import clauses, content_words, form_features

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from judge.embedder import EmbeddedText
    from judge.verdict import BlockerView

    Encode = Callable[[Sequence[str]], Sequence[EmbeddedText]]


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
    texts: tuple[EmbeddedText, ...]
    """The examples, or the description in their stead, then description and resolution."""

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
            (
                *([self.texts[i] for i in examples] or [self.texts[-2]]),
                *self.texts[-2:],
            ),
        )


@dataclass(frozen=True, slots=True)
class EmbeddedQuestion:
    """One question as vectors, words and form."""

    text: str
    whole: EmbeddedText
    clause_vectors: NDArray[np.float32]
    """Shape (n, width); the question itself where it has one clause only."""
    words: frozenset[str]
    form: NDArray[np.float32]

    @property
    def vector(self) -> NDArray[np.float32]:
        """Of the question as a whole, of unit length."""
        return self.whole.vector


def clean_example(text: str) -> str:
    """An example question without the bullet that repository registries put before it."""
    return text.lstrip("-•* \t\n").rstrip()


def embed_question(text: str, encode: Encode) -> EmbeddedQuestion:
    """Embed a question and its clauses in one call of `encode`, at most five texts."""
    parts = clauses(text)
    whole, *rest = encode([text, *parts])
    form = np.array(form_features(text), np.float32)
    clause_vectors = np.stack([part.vector for part in rest or [whole]])
    return EmbeddedQuestion(text, whole, clause_vectors, content_words(text), form)


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
    embedded = iter(encode(texts))
    found: list[EmbeddedBlocker] = []
    for b, questions in zip(blockers, examples, strict=True):
        description, resolution = next(embedded), next(embedded)
        shown = [next(embedded) for _ in questions]
        found.append(
            EmbeddedBlocker(
                blocker_id=b.blocker_id,
                description=description.vector,
                resolution=resolution.vector,
                examples=np.stack([example.vector for example in shown]),
                example_words=tuple(content_words(text) for text in questions),
                description_words=content_words(b.description),
                resolution_words=content_words(b.resolution),
                texts=(*shown, description, resolution),
            )
        )
    return found
