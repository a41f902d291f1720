"""An embedder that keeps every text: an evaluation shows the same texts again and again.

A serving judge has no use for it: a task's registry is embedded once, and no question comes twice.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from judge.embedder import Embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judge.embedder import EmbeddedText


class RememberedEmbedder(Embedder):
    """Each text is embedded once; about 20 KB are kept for it. May be used from several threads."""

    def __init__(self, *, threads: int = 2) -> None:
        super().__init__(threads=threads)
        self._known: dict[str, EmbeddedText] = {}
        self._embedding = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """As `Embedder.embed`; only texts that were never seen cost time."""
        with self._embedding:
            new = list(dict.fromkeys(text for text in texts if text not in self._known))
            if new:
                self._known.update(zip(new, super().embed(new), strict=True))
        return [self._known[text] for text in texts]
