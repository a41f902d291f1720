"""An embedder that keeps every vector: an evaluation shows the same texts again and again.

A serving judge has no use for it: a task's registry is embedded once, and no question comes twice.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from judge.embedder import WIDTH, Embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class RememberedEmbedder(Embedder):
    """Each text is encoded once; 1.5 KB are kept for it. May be used from several threads."""

    def __init__(self, *, threads: int = 2) -> None:
        super().__init__(threads=threads)
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._encoding = threading.Lock()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `Embedder.encode`; only texts that were never seen cost time."""
        import numpy as np

        with self._encoding:
            new = list(dict.fromkeys(text for text in texts if text not in self._vectors))
            if new:
                self._vectors.update(zip(new, super().encode(new), strict=True))
        vectors = np.empty((len(texts), WIDTH), np.float32)
        for place, text in enumerate(texts):
            vectors[place] = self._vectors[text]
        return vectors
