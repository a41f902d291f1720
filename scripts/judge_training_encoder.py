"""Embedded texts of a training, kept between runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from judge.embedder import EmbeddedText, Embedder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class CachedEncoder:
    """Embeds each text once, and keeps what came out in a file between runs if one is given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._embedder = Embedder()
        self._known: dict[str, EmbeddedText] = {}
        if path and path.is_file():
            with np.load(path) as stored:
                ends = np.cumsum(stored["lengths"])[:-1]
                parts = [np.split(stored[name], ends) for name in ("pieces", "states")]
                rows = zip(stored["vectors"], *parts, strict=True)
                texts = json.loads(str(stored["texts"]))
                self._known = {t: EmbeddedText(*row) for t, row in zip(texts, rows, strict=True)}

    def __call__(self, texts: Sequence[str]) -> list[EmbeddedText]:
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return [self._known[text] for text in texts]

    def save(self) -> None:
        if self._path:
            known = self._known.values()
            np.savez(
                self._path,
                texts=np.array(json.dumps(list(self._known))),
                vectors=np.stack([text.vector for text in known]),
                lengths=np.array([len(text.pieces) for text in known]),
                pieces=np.concatenate([text.pieces for text in known]),
                states=np.concatenate([text.states for text in known]),
            )
