"""The judge's contract: what it reads of a registry and what it gives back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VerdictSource = Literal["judge", "cache", "replay", "human"]
Setting = float | int | str | bool


class BlockerView(Protocol):
    """What a judge may read of one blocker. `task_store.Blocker` satisfies it."""

    @property
    def blocker_id(self) -> str:
        """Id, unique in the registry."""
        ...

    @property
    def description(self) -> str:
        """What is missing, ambiguous or contradictory."""
        ...

    @property
    def resolution(self) -> str:
        """The answer; a judge reads it at most to compare, and never returns it."""
        ...

    @property
    def example_questions(self) -> Sequence[str]:
        """Questions that ask for exactly this."""
        ...

    @property
    def type(self) -> str | None:
        """The source's own string."""
        ...


class RegistryView(Protocol):
    """The blockers of one task, in order, with a digest that changes when any of them does."""

    @property
    def blockers(self) -> Sequence[BlockerView]:
        """In the order of the registry."""
        ...

    @property
    def digest(self) -> str:
        """Changes when any blocker does."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFingerprint:
    """What must be equal for the figures of two runs to be put together."""

    backend: str
    """`embedded`, `vllm`, `vote`, `replay` or `human`."""
    model: str | None
    """Model as asked for."""
    model_reported: str | None = None
    """Model id as the server reports it; None for a judge without a server."""
    policy: str
    """Name of the rules, such as `release`, `meaning` or `similarity-1`."""
    prompt_digest: str | None = None
    """SHA-256 of the prompt template, or None for a judge without one."""
    sampling: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    """Sampling settings or thresholds, by name."""
    trained_on: Sequence[str] = ()
    """Ids of the tasks whose examples the judge was fitted to."""
    members: Sequence[str] = ()
    """Digests of the judges of a vote, in order."""

    digest: str = field(init=False, repr=False, compare=False)
    """SHA-256 over the canonical JSON of all other fields, as 64 hex digits."""

    def __post_init__(self) -> None:
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))
        object.__setattr__(self, "digest", hashlib.sha256(text.encode()).hexdigest())

    def as_dict(self) -> dict[str, object]:
        """All fields but the digest, as JSON values."""
        return {
            "backend": self.backend,
            "model": self.model,
            "model_reported": self.model_reported,
            "policy": self.policy,
            "prompt_digest": self.prompt_digest,
            "sampling": dict(self.sampling),
            "trained_on": list(self.trained_on),
            "members": list(self.members),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judge's own decision on one question, before any counting rule."""

    blocker_id: str | None
    """The blocker that the question is about, or None."""
    reason: str
    """Why, in one sentence. May name blockers: it goes to the log and never to the agent."""
    confidence: float | None = None
    """Calibrated probability that the decision is right, in [0, 1]; None when unknown."""
    raw: str | None = None
    """The judge's reply as it came, for a judge that replies in text."""
    latency_ms: float = 0.0
    tokens: int | None = None
    """Prompt and completion tokens together; None when not reported."""
    attempts: int = 1
    source: VerdictSource = "judge"
    fingerprint: str
    """`JudgeFingerprint.digest` of the judge that decided."""
    flags: Sequence[str] = ()
    """Any of `question_truncated`, `suspected_injection`, `multi_match`, `invalid_key`."""
    members: Sequence[Verdict] = ()
    """The single verdicts of a vote."""


class Judge(Protocol):
    """Decides which blocker a question is about."""

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        """Match one question against the blockers of one task.

        Args:
            question: The agent's text as it came, at least three characters without outer blanks.
            registry: The task's blockers.

        Raises:
            JudgeError: No verdict could be had. That is never a "no".
        """
        ...

    @property
    def fingerprint(self) -> JudgeFingerprint:
        """What must be equal for two runs to be compared."""
        ...
