"""Similarity within a task, with what all its texts share taken away."""

from __future__ import annotations

import numpy as np
import pytest

from judge.embedded_registry import embed_blockers
from judge.embedder import Embedder
from judge.probe import ProbeBlocker
from judge.registry_contrast import contrast_features

# Columns of `contrast_features` that these tests read.
CENTRE, TASK = 4, 8


BLOCKERS = (
    ProbeBlocker(
        blocker_id="free",
        description="Which berths of the harbour are free is open.",
        resolution="Empty ones.",
        example_questions=(),
    ),
    ProbeBlocker(
        blocker_id="long",
        description="The length of a long berth of the harbour is open.",
        resolution="20 m.",
        example_questions=(),
    ),
)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder()


def test_what_all_texts_share_makes_no_blocker_near(embedder: Embedder) -> None:
    blockers = embed_blockers(BLOCKERS, embedder.embed)
    asked, other = embedder.embed(
        ["How long is a long berth of the harbour?", "Who owns the berths of the harbour?"]
    )

    free, long = contrast_features(asked.vector, blockers)
    of_other = contrast_features(other.vector, blockers)

    assert long[CENTRE] > 0.5 > 0 > free[CENTRE]
    assert of_other[:, CENTRE].max() < long[CENTRE]
    assert of_other[0, TASK] > 0.5


def test_a_lone_blocker_is_not_its_own_background(embedder: Embedder) -> None:
    (blocker,) = embed_blockers(BLOCKERS[1:], embedder.embed)
    asked, stray = embedder.embed(["How long is a long berth?", "What colour is a boat?"])

    (near,) = contrast_features(asked.vector, [blocker])
    (far,) = contrast_features(stray.vector, [blocker])

    assert np.isfinite(near).all()
    assert near[CENTRE] > far[CENTRE]
