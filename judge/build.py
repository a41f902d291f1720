"""Build a judge from what the command line says: one line a backend."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from judge.errors import JudgeUsageError

if TYPE_CHECKING:
    from pathlib import Path

    from judge.verdict import Judge

REFERENCE_MODEL = "casperhansen/llama-3.3-70b-instruct-awq"
"""The model of the published benchmark's judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfig:
    """What the backends need beyond their name; each reads its part."""

    url: str = "http://127.0.0.1:8808"
    """Base address of an OpenAI-compatible server, with or without `/v1`."""
    model: str = REFERENCE_MODEL
    api_key: str | None = field(default=None, repr=False)
    policy: str = "release"
    """`release` or `meaning`; see docs/judge.md."""
    prompt_file: Path | None = None
    """A prompt template of the user's own, instead of the policy's."""
    cache_path: Path | None = None
    """SQLite file of verdicts; None asks the judge every time."""
    deadline_s: float = 30.0
    """Longest wait for one verdict, retries included, in seconds."""
    concurrency: int = 8
    """Questions that are with the server at the same time."""


def build_judge(spec: str, config: JudgeConfig) -> Judge:
    """Build the judge that `spec` names. Nothing is asked or loaded yet.

    Args:
        spec: `embedded`, `vllm`, `replay:FILE` or `vote:…`.
        config: Settings of the backends.

    Raises:
        JudgeUsageError: The spec, the policy or the template cannot be used.
    """
    if spec == "embedded":
        from judge.embedded import EmbeddedJudge

        return EmbeddedJudge()
    raise JudgeUsageError(f"unknown judge {spec!r}: embedded, vllm, replay:FILE or vote:...")
