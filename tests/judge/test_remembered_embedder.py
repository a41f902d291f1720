"""Vectors that are kept are those that a fresh encoder gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from judge.embedder import Embedder
from judge.remembered_embedder import RememberedEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from numpy.typing import NDArray


def test_a_text_is_encoded_once_and_its_vector_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["Which tide?", "Which berth?", "Which tide?"]
    fresh = Embedder().encode(texts)
    encoded: list[str] = []
    encode = Embedder.encode

    def counted(self: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
        encoded.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(Embedder, "encode", counted)
    embedder = RememberedEmbedder()

    first, second = embedder.encode(texts), embedder.encode([*reversed(texts), "Which crew?"])

    assert encoded == ["Which tide?", "Which berth?", "Which crew?"]
    np.testing.assert_allclose(first, fresh, atol=1e-5)
    np.testing.assert_array_equal(second[:3], first[::-1])
