"""Word pieces compared one by one: what pooled vectors cannot tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from judge.embedder import WORD_PIECES, Embedder
from judge.piece_match import piece_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

EQUAL_WEIGHTS = np.ones(WORD_PIECES, np.float32)
# Columns of `piece_features` that these tests read.
EXAMPLES, DESCRIPTION, RAREST, UNMET, LOST = 0, 1, 10, 12, 14


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder()


def _features(
    embedder: Embedder, question: str, *blockers: tuple[str, ...], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    (asked,) = embedder.embed([question])
    return piece_features(asked, [embedder.embed(texts) for texts in blockers], weights)


def test_the_one_word_that_differs_is_met_by_the_right_blocker_alone(embedder: Embedder) -> None:
    lowest = ("What is the lowest speed allowed?", "The minimum speed is open.", "Ten knots.")
    highest = ("What is the highest speed allowed?", "The maximum speed is open.", "Forty knots.")

    first, second = _features(
        embedder, "What is the minimum speed?", lowest, highest, weights=EQUAL_WEIGHTS
    )

    assert first[DESCRIPTION] > second[DESCRIPTION]
    assert first[LOST] < second[LOST]


def test_a_question_that_is_an_example_is_met_in_every_piece(embedder: Embedder) -> None:
    question = "Which berth is free at low tide?"

    (row,) = _features(embedder, question, (question, "d", "r"), weights=EQUAL_WEIGHTS)

    assert row[EXAMPLES] == pytest.approx(1, abs=1e-3)
    assert row[RAREST] == pytest.approx(1, abs=1e-3)
    assert row[UNMET] == 0


def test_more_examples_change_no_row_when_they_are_the_same(embedder: Embedder) -> None:
    texts = ("Which berth is free?", "Free berths are not told apart.", "Those without a boat.")

    (once,) = _features(embedder, "What is a free berth?", texts, weights=EQUAL_WEIGHTS)
    (thrice,) = _features(
        embedder, "What is a free berth?", (*texts[:1] * 3, *texts[1:]), weights=EQUAL_WEIGHTS
    )

    assert thrice.tolist() == pytest.approx(once.tolist(), abs=1e-4)


@pytest.mark.parametrize("question", ["", "???", "\ud800"])
def test_a_question_without_a_word_has_finite_features(embedder: Embedder, question: str) -> None:
    rows = _features(embedder, question, ("Which?", "d", ""), weights=np.zeros_like(EQUAL_WEIGHTS))

    assert np.isfinite(rows).all()
