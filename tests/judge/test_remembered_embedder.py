"""Texts that are kept are those that a fresh encoder gives."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pytest

from judge.embedder import Embedder
from judge.errors import JudgeSetupError
from judge.remembered_embedder import RememberedEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def test_threads_that_want_the_same_texts_share_them_out(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"Which berth is number {n}?" for n in range(40)]
    by_thread: dict[int, list[str]] = {}
    both_at_work = threading.Barrier(2, timeout=20)
    embed = Embedder.embed

    def watched(self: Embedder, texts: Sequence[str]) -> list[EmbeddedText]:
        own = by_thread.setdefault(threading.get_ident(), [])
        if not own:
            both_at_work.wait()
        own.extend(texts)
        return embed(self, texts)

    monkeypatch.setattr(Embedder, "embed", watched)
    embedder = RememberedEmbedder()
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(embedder.embed, [texts, texts])

    assert len(by_thread) == 2
    assert sorted(chain(*by_thread.values())) == sorted(texts)
    assert first == second


def test_a_text_that_failed_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Embedder, texts: Sequence[str]) -> list[EmbeddedText]:
        raise JudgeSetupError("embedder: a file is missing")

    embedder = RememberedEmbedder()
    with monkeypatch.context() as broken:
        broken.setattr(Embedder, "embed", fails)
        with pytest.raises(JudgeSetupError):
            embedder.embed(["Which tide?"])

    assert len(embedder.embed(["Which tide?"])) == 1
