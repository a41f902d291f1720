"""The embedded judge: no GPU, no network, no key.

Compares meanings by sentence embeddings, with a trained head (`judge.head`) that decides. An
example question of the registry, word for word, always matches.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from judge.embedder import EMBEDDER_DIGEST, MODEL_NAME, Embedder
from judge.guard import SUSPECTED_INJECTION
from judge.verdict import JudgeFingerprint, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from judge.embedded_registry import EmbeddedBlocker
    from judge.head import Form, HeadFile
    from judge.verdict import RegistryView

QUESTION_LIMIT_CHARS = 2_000
"""Longer questions are cut here before they are judged, and flagged."""

_READS_AS: Mapping[Form, str] = {
    "statement": "reads as a statement",
    "generic": "reads as a question that fits any task",
    "injection": "reads as no question to a person about the task",
}
_POLICY = "similarity-4"
_HEAD_PATH = Path(__file__).parent / "model" / "head.npz"
# Registries kept embedded: one server holds one task, an evaluation goes through many variants.
_KEPT_REGISTRIES = 64


@dataclass(frozen=True, slots=True)
class _EmbeddedRegistry:
    blockers: Sequence[EmbeddedBlocker]
    examples: dict[str, str | None]
    """Example questions, folded, to their blocker; None where two blockers share one."""


@dataclass(frozen=True, slots=True)
class _Decision:
    blocker_id: str | None
    reason: str
    confidence: float | None
    flags: tuple[str, ...] = ()


class EmbeddedCore:
    """Encoder, heads and embedded registries, shared by the judges of one process."""

    def __init__(self, embedder: Embedder | None = None, head_path: Path = _HEAD_PATH) -> None:
        self.embedder = embedder or Embedder()
        self._head_path = head_path
        self._heads: HeadFile | None = None
        self._registries: dict[str, _EmbeddedRegistry] = {}
        self._lock = threading.Lock()

    def heads(self) -> HeadFile:
        """The trained heads, read at the first call.

        Raises:
            JudgeSetupError: They are missing or damaged.
        """
        with self._lock:
            if self._heads is None:
                from judge.head import read_heads

                self._heads = read_heads(self._head_path)
            return self._heads

    def registry(self, registry: RegistryView) -> _EmbeddedRegistry:
        """A registry as vectors, kept by its digest."""
        with self._lock:
            known = self._registries.get(registry.digest)
        if known is not None:
            return known
        from judge.embedded_registry import clean_example, embed_blockers

        examples: dict[str, str | None] = {}
        for blocker in registry.blockers:
            for text in blocker.example_questions:
                folded = _folded(clean_example(text))
                owner = examples.setdefault(folded, blocker.blocker_id)
                if owner != blocker.blocker_id:
                    examples[folded] = None
        known = _EmbeddedRegistry(embed_blockers(registry.blockers, self.embedder.embed), examples)
        with self._lock:
            if len(self._registries) >= _KEPT_REGISTRIES:
                self._registries.pop(next(iter(self._registries)))
            self._registries[registry.digest] = known
        return known


class EmbeddedJudge:
    """Matches a question with the blocker that it is most probably about, or with none.

    Args:
        core: Shared with other judges of this process; one of its own by default.
        head: Which of the trained heads decides; 0 is the one fitted to all tasks.
    """

    def __init__(self, core: EmbeddedCore | None = None, *, head: int = 0) -> None:
        self._core = core or EmbeddedCore()
        self._head = head
        self._fingerprint: JudgeFingerprint | None = None

    @property
    def fingerprint(self) -> JudgeFingerprint:
        """What must be equal for two runs to be compared; names the tasks trained on."""
        if self._fingerprint is None:
            heads = self._core.heads()
            self._fingerprint = JudgeFingerprint(
                backend="embedded",
                model=MODEL_NAME,
                model_reported=EMBEDDER_DIGEST,
                policy=_POLICY,
                prompt_digest=heads.digest,
                sampling={
                    "threshold": heads.thresholds[self._head],
                    "question_limit_chars": QUESTION_LIMIT_CHARS,
                    "head": self._head,
                },
                trained_on=heads.tasks_of(self._head),
            )
        return self._fingerprint

    def for_evaluation(self, task_id: str, registry: RegistryView) -> EmbeddedJudge:
        """A judge, sharing encoder and registries, whose head was never fitted to this task."""
        return EmbeddedJudge(self._core, head=self._core.heads().held_out(task_id, registry))

    async def warm_up(self, registry: RegistryView | None = None) -> None:
        """Load encoder and heads, and embed `registry` if given, so that no question is slow.

        Raises:
            JudgeSetupError: A file of the model is missing or cannot be read.
        """
        await to_thread.run_sync(self._warm_up, registry)

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        """Match one question against the blockers of one task; any text gets a verdict.

        Raises:
            JudgeSetupError: A file of the model is missing or cannot be read.
        """
        started = time.perf_counter()
        decision = await to_thread.run_sync(self._decide, question, registry)
        return Verdict(
            blocker_id=decision.blocker_id,
            reason=decision.reason,
            confidence=decision.confidence,
            latency_ms=(time.perf_counter() - started) * 1000,
            fingerprint=self.fingerprint.digest,
            flags=decision.flags,
        )

    def _warm_up(self, registry: RegistryView | None) -> None:
        self._core.heads()
        self._core.embedder.load()
        if registry is not None:
            self._core.registry(registry)

    def _decide(self, question: str, registry: RegistryView) -> _Decision:
        from judge.embedded_registry import embed_question

        flags = ("question_truncated",) if len(question) > QUESTION_LIMIT_CHARS else ()
        cut = question[:QUESTION_LIMIT_CHARS]
        heads = self._core.heads()
        head = heads.heads[self._head]
        known = self._core.registry(registry)
        example_of = known.examples.get(_folded(cut))
        if example_of is not None:
            return _Decision(example_of, f"an example question of {example_of}", 1.0, flags)
        embedded = embed_question(cut, self._core.embedder.embed)
        form = head.veto(embedded)
        if form is not None:
            if head.suspects_injection(embedded):
                flags = (*flags, SUSPECTED_INJECTION)
            return _Decision(None, _READS_AS[form], None, flags)
        if not known.blockers:
            return _Decision(None, "the registry is empty", 1.0, flags)
        chances = head.calibrated(head.raw(head.features(embedded, known.blockers)))
        best = int(chances.argmax())
        nearest, chance = known.blockers[best].blocker_id, float(chances[best])
        reason = f"about {nearest} with a probability of {chance:.2f}"
        if chance >= heads.thresholds[self._head]:
            return _Decision(nearest, reason, chance, flags)
        return _Decision(None, reason, 1 - chance, flags)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
