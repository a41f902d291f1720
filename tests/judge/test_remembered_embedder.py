"""Texts that are kept are those that a fresh encoder gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from judge.embedder import Embedder
from judge.remembered_embedder import RememberedEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from judge.embedder import EmbeddedText


def test_a_text_is_embedded_once_and_comes_out_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Which tide?", "Which berth?", "Which tide?"]
    fresh = Embedder().embed(texts)
    embedded: list[str] = []
    embed = Embedder.embed

    def counted(self: Embedder, texts: Sequence[str]) -> list[EmbeddedText]:
        embedded.extend(texts)
        return embed(self, texts)

    monkeypatch.setattr(Embedder, "embed", counted)
    embedder = RememberedEmbedder()

    first, second = embedder.embed(texts), embedder.embed([*reversed(texts), "Which crew?"])

    assert embedded == ["Which tide?", "Which berth?", "Which crew?"]
    for one, alone in zip(first, fresh, strict=True):
        np.testing.assert_allclose(one.vector, alone.vector, atol=1e-5)
        np.testing.assert_allclose(one.states, alone.states, atol=2e-3)
    assert second[:3] == first[::-1]
