"""Search over one task's business rules by meaning; embedded once, kept on disk by content."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

FOUND_AT_MOST = 5
"""As released (docs/release.md, section 2)."""


class Encoder(Protocol):
    """Turns texts into vectors."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), width), in the order of `texts`. Blocks."""
        ...


class RuleIndex:
    """The business rules of one task and no other's."""

    def __init__(
        self, rules: Sequence[str], encoder: Encoder, *, encoder_digest: str, cache_dir: Path
    ) -> None:
        """Name what is to be searched; nothing is loaded yet.

        Args:
            rules: In the order of the task.
            encoder: Shared with others; loads its model by itself at its first use.
            encoder_digest: Changes when the encoder's vectors do.
            cache_dir: Where vectors are kept; made when needed.
        """
        self._rules = tuple(rules)
        self._encoder = encoder
        content = json.dumps([encoder_digest, list(self._rules)]).encode()
        self._cache_path = cache_dir / f"{hashlib.sha256(content).hexdigest()}.npy"
        self._vectors: NDArray[np.float32] | None = None
        self._turn = threading.Lock()

    async def warm_up(self) -> None:
        """Load the encoder and embed the rules, so that the first search does not wait for it."""
        # Abandoned when the caller goes: the thread finishes for whoever searches next.
        await anyio.to_thread.run_sync(self._search, "warm-up", abandon_on_cancel=True)

    async def search(self, text: str) -> list[str]:
        """The nearest rules, nearest first, at most `FOUND_AT_MOST`; waits for the encoder."""
        return await anyio.to_thread.run_sync(self._search, text, abandon_on_cancel=True)

    def _search(self, text: str) -> list[str]:
        if not self._rules:
            return []
        with self._turn:
            if self._vectors is None:
                self._vectors = self._kept_vectors()
        nearness = self._vectors @ self._encoder.encode([text])[0]
        order = (-nearness).argsort(kind="stable")[:FOUND_AT_MOST]
        return [self._rules[int(index)] for index in order]

    def _kept_vectors(self) -> NDArray[np.float32]:
        import numpy as np

        with suppress(OSError, ValueError, EOFError):  # absent or damaged: made anew
            kept: NDArray[np.float32] = np.load(self._cache_path, allow_pickle=False)
            if len(kept) == len(self._rules):
                return kept
        vectors = self._encoder.encode(self._rules)
        with suppress(OSError):  # a full or read-only disk costs the next start some time
            self._cache_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            half = self._cache_path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            with half.open("wb") as file:
                np.save(file, vectors)
            half.replace(self._cache_path)
        return vectors
