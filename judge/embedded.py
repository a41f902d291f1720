"""The embedded judge: no GPU, no network, no key. Compares meanings by sentence embeddings."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import to_thread

from judge.embedder import EMBEDDER_DIGEST, MODEL_NAME, Embedder
from judge.question_form import read_form
from judge.verdict import JudgeFingerprint, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from judge.verdict import RegistryView

QUESTION_LIMIT_CHARS = 2_000
"""Longer questions are cut here before they are judged, and flagged."""

_THRESHOLD = 0.75
# Registries kept embedded: one server holds one task, an evaluation goes through many variants.
_KEPT_REGISTRIES = 64


@dataclass(frozen=True, slots=True)
class _EmbeddedRegistry:
    owners: tuple[int, ...]
    """For each row of `vectors`, the index of its blocker."""
    vectors: NDArray[np.float32]


class EmbeddedJudge:
    """Matches a question with the blocker whose example questions and description are nearest.

    Args:
        embedder: Shared with whoever else embeds in this process; one of its own by default.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder or Embedder()
        self._registries: dict[str, _EmbeddedRegistry] = {}
        self._lock = threading.Lock()
        self._fingerprint = JudgeFingerprint(
            backend="embedded",
            model=MODEL_NAME,
            model_reported=EMBEDDER_DIGEST,
            policy="similarity-1",
            sampling={"threshold": _THRESHOLD, "question_limit_chars": QUESTION_LIMIT_CHARS},
        )

    @property
    def fingerprint(self) -> JudgeFingerprint:
        """What must be equal for two runs to be compared."""
        return self._fingerprint

    async def warm_up(self, registry: RegistryView | None = None) -> None:
        """Load the encoder, and embed `registry` if given, so that the first question is not slow.

        Raises:
            JudgeSetupError: The encoder's files are missing or cannot be read.
        """
        await to_thread.run_sync(self._embedder.load)
        if registry is not None:
            await to_thread.run_sync(self._embed, registry)

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        """Match one question against the blockers of one task; any text gets a verdict.

        Raises:
            JudgeSetupError: The encoder's files are missing or cannot be read.
        """
        started = time.perf_counter()
        verdict = await to_thread.run_sync(self._decide, question, registry)
        latency_ms = (time.perf_counter() - started) * 1000
        blocker_id, reason, confidence, flags = verdict
        return Verdict(
            blocker_id=blocker_id,
            reason=reason,
            confidence=confidence,
            latency_ms=latency_ms,
            fingerprint=self._fingerprint.digest,
            flags=flags,
        )

    def _decide(
        self, question: str, registry: RegistryView
    ) -> tuple[str | None, str, float | None, tuple[str, ...]]:
        flags = ("question_truncated",) if len(question) > QUESTION_LIMIT_CHARS else ()
        question = question[:QUESTION_LIMIT_CHARS]
        form = read_form(question)
        if form.injects:
            return None, "speaks to the judge", None, (*flags, "suspected_injection")
        if not form.asks or form.several or form.confirms:
            return None, "is not one single question", None, flags
        known = self._embed(registry)
        if not known.owners:
            return None, "the registry is empty", None, flags
        similarities = known.vectors @ self._embedder.encode([question])[0]
        best = int(similarities.argmax())
        nearest = registry.blockers[known.owners[best]].blocker_id
        reason = f"nearest is {nearest} with a similarity of {similarities[best]:.2f}"
        return nearest if similarities[best] >= _THRESHOLD else None, reason, None, flags

    def _embed(self, registry: RegistryView) -> _EmbeddedRegistry:
        with self._lock:
            known = self._registries.get(registry.digest)
        if known is not None:
            return known
        texts = [
            (i, text)
            for i, b in enumerate(registry.blockers)
            for text in (*b.example_questions, b.description)
        ]
        known = _EmbeddedRegistry(
            tuple(i for i, _ in texts), self._embedder.encode([text for _, text in texts])
        )
        with self._lock:
            if len(self._registries) >= _KEPT_REGISTRIES:
                self._registries.pop(next(iter(self._registries)))
            self._registries[registry.digest] = known
        return known
