"""Whether a judge is fit for use, on one screen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError
from hil_mcp.judge_evaluation import fresh_judge
from hil_mcp.judge_quality import known_qualities
from judge.address import without_password
from judge.build import urls_of
from judge.errors import JudgeSetupError, JudgeUsageError
from judge.lifecycle import close_judge, probe_judge, warm_judge
from judge.probe import KNOWN_REGISTRY, known_answers

if TYPE_CHECKING:
    from hil_mcp.judge_quality import JudgeQuality
    from hil_mcp.settings import Settings
    from judge.verdict import JudgeFingerprint

# Asked by nobody before it is timed: neither a cached reply nor a remembered vector shortens it.
_NEW_QUESTION = "From which day on is a loan late, and counted from what?"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCheck:
    """What was found out."""

    judge: str
    """As it was asked for."""
    url: str | None
    """Of each member of a vote; None for a judge without a server."""
    fingerprint: JudgeFingerprint
    problem: str | None
    """What is wrong, beginning with the setting; None for a fit judge."""
    ready_s: float | None
    """Seconds for loading or probing; None when that failed."""
    question_ms: float | None
    """Milliseconds of one question after that."""
    quality: JudgeQuality | None
    """What an evaluation said of this judge, if there was one."""
    warnings: tuple[str, ...]
    """One line for a kept evaluation that cannot be read."""

    def document(self) -> dict[str, object]:
        """The facts as JSON values, in the order to be read."""
        fingerprint, quality = self.fingerprint, self.quality
        return {
            "judge": self.judge,
            "fit": self.problem is None,
            "problem": self.problem,
            "url": self.url,
            "model": fingerprint.model,
            "model_reported": fingerprint.model_reported,
            "policy": fingerprint.policy,
            "prompt_digest": fingerprint.prompt_digest,
            "sampling": dict(fingerprint.sampling),
            "fingerprint": fingerprint.digest,
            "ready_s": self.ready_s,
            "question_ms": self.question_ms,
            "precision": quality.precision if quality else None,
            "precision_interval": quality.precision_interval if quality else None,
            "recall": quality.recall if quality else None,
            "recall_interval": quality.recall_interval if quality else None,
            "measured_on": quality.pairs if quality else None,
            "measured_n": quality.n if quality else None,
            "warnings": list(self.warnings),
        }


async def check_judge(settings: Settings) -> JudgeCheck:
    """Load or probe the judge, ask it the known questions, and time one.

    Raises:
        ConfigError: The judge is a replay, which has nothing to check.
        JudgeUsageError: No judge can be built from the settings.
    """
    if settings.judge.startswith("replay:"):
        raise ConfigError("a replayed log has nothing to check: it gives the verdicts it holds")
    judge = fresh_judge(settings)
    problem: str | None = None
    ready_s = question_ms = None
    try:
        started = time.perf_counter()
        await probe_judge(judge)
        await warm_judge(judge, KNOWN_REGISTRY)
        ready_s = time.perf_counter() - started
        await known_answers(judge)
        started = time.perf_counter()
        await judge.decide(_NEW_QUESTION, KNOWN_REGISTRY)
        question_ms = (time.perf_counter() - started) * 1000
    except JudgeUsageError:
        raise
    except JudgeSetupError as exc:
        problem = str(exc)
    finally:
        await close_judge(judge)
    fingerprint = judge.fingerprint
    known = known_qualities(settings.home, [fingerprint.digest])
    return JudgeCheck(
        judge=without_password(settings.judge),
        url=", ".join(map(without_password, urls_of(settings.judge, settings.judge_url))) or None,
        fingerprint=fingerprint,
        problem=problem,
        ready_s=ready_s,
        question_ms=question_ms,
        quality=known.by_fingerprint.get(fingerprint.digest),
        warnings=known.problems,
    )
