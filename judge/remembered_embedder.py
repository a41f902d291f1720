"""An embedder that keeps every text: an evaluation shows the same texts again and again.

A serving judge has no use for it: a task's registry is embedded once, and no question comes twice.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from judge.embedder import Embedder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from judge.embedder import EmbeddedText

# What one thread takes of a registry before another may go on with the rest.
_TAKEN_AT_ONCE = 4


class RememberedEmbedder(Embedder):
    """Each text is embedded once; about 20 KB are kept for it.

    Several threads share out the texts that all of them want. A pass uses one thread, since threads
    of different passes wait for each other less than those of one pass.
    """

    def __init__(self) -> None:
        super().__init__(threads=1)
        self._known: dict[str, Future[EmbeddedText]] = {}
        self._taking = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """As `Embedder.embed`; only texts that were never seen cost time."""
        while new := self._take(texts):
            try:
                found = super().embed(list(new))
            except BaseException as exc:
                for kept in new.values():
                    kept.set_exception(exc)
                raise
            for kept, one in zip(new.values(), found, strict=True):
                kept.set_result(one)
        return [kept.result() for kept in self._kept(texts)]

    def _take(self, texts: Iterable[str]) -> dict[str, Future[EmbeddedText]]:
        """Some texts that no thread has begun with, which are now the caller's."""
        with self._taking:
            new = list(dict.fromkeys(text for text in texts if self._is_new(text)))
            taken: dict[str, Future[EmbeddedText]] = {
                text: Future() for text in new[:_TAKEN_AT_ONCE]
            }
            self._known.update(taken)
            return taken

    def _kept(self, texts: Iterable[str]) -> list[Future[EmbeddedText]]:
        with self._taking:
            return [self._known[text] for text in texts]

    def _is_new(self, text: str) -> bool:
        known = self._known.get(text)
        return known is None or (known.done() and known.exception() is not None)
