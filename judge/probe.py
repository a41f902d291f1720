"""Find out before the first question whether a judge is fit, and which setting is wrong if not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judge.client import CallError
from judge.errors import JudgeError, JudgeSetupError
from judge.retries import RetryRules, with_retries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judge.client import ChatClient
    from judge.retries import Pace
    from judge.verdict import Judge

PROBE_LIMIT_S = 10.0
"""Longest wait for the list of served models, in seconds, repeated requests included."""
# What a question's failure says of the settings; a server that failed by itself says nothing.
_CULPRITS = {"connection": "address", "timeout": "address", "parse": "model", "truncated": "model"}
CONTEXT_TOKENS = 6600
"""Least context window: the rules and the longest released registry take about 2,500 tokens, a
question 3,000 at most, a reply that is asked for again 1,024."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeBlocker:
    """A blocker of the probe's own little registry."""

    blocker_id: str
    description: str
    resolution: str
    example_questions: Sequence[str]
    type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRegistry:
    """The registry that the probe asks about; of no task."""

    blockers: Sequence[ProbeBlocker]

    @property
    def digest(self) -> str:
        """SHA-256 of what the blockers say."""
        return hashlib.sha256(repr(self.blockers).encode()).hexdigest()


KNOWN_REGISTRY = ProbeRegistry(
    blockers=(
        ProbeBlocker(
            blocker_id="overdue_days",
            description="The report shall list overdue library loans, but nothing says after how "
            "many days a loan is overdue.",
            resolution="A loan is overdue after 21 days.",
            example_questions=("After how many days does a loan count as overdue?",),
        ),
        ProbeBlocker(
            blocker_id="branch_scope",
            description="The report is for 'our branches'; the table has open and closed ones.",
            resolution="Open branches only.",
            example_questions=("Which branches belong in the report, open ones or all?",),
        ),
    )
)
KNOWN_MATCH = "After how many days is a library loan treated as overdue?"
KNOWN_MATCH_ID = "overdue_days"
KNOWN_NON_MATCH = "Which font should the headings of the printed poster have?"


async def check_served(client: ChatClient, model: str, *, pace: Pace) -> None:
    """See that the server answers, takes the key, and offers the model with enough context.

    A server that is busy, or away for a moment, is asked again.

    Raises:
        JudgeSetupError: It does not; begins with `address`, `key`, `model` or `window`, or with
            `server` where none of these is wrong.
    """
    try:
        served = await with_retries(
            lambda _: client.models(), rules=RetryRules(deadline_s=PROBE_LIMIT_S), pace=pace
        )
    except JudgeError as exc:
        cause = exc.__cause__
        if not isinstance(cause, CallError):
            raise JudgeSetupError(
                f"address: {client.base_url} does not answer within {PROBE_LIMIT_S:g} s"
            ) from exc
        if cause.status == 404:
            return  # a server without a list; the known questions will tell
        raise unfit(cause, client.base_url) from exc
    offered = {entry.name: entry for entry in served}
    if model not in offered:
        names = ", ".join(offered) or "nothing"
        raise JudgeSetupError(
            f"model: {model!r} is not served at {client.base_url}; served there: {names}"
        )
    window = offered[model].context_tokens
    if window is not None and window < CONTEXT_TOKENS:
        raise JudgeSetupError(
            f"window: {model!r} takes {window} tokens at {client.base_url}; the judge needs "
            f"{CONTEXT_TOKENS}: start the server with a longer context"
        )


async def known_answers(judge: Judge) -> None:
    """Ask one question that matches and one that does not.

    Raises:
        JudgeSetupError: No verdict, or the wrong one.
    """
    try:
        match = await judge.decide(KNOWN_MATCH, KNOWN_REGISTRY)
        other = await judge.decide(KNOWN_NON_MATCH, KNOWN_REGISTRY)
    except JudgeSetupError:
        raise
    except JudgeError as exc:
        culprit = _CULPRITS.get(exc.error_class, "server")
        raise JudgeSetupError(f"{culprit}: no verdict on a known question: {exc}") from exc
    if match.blocker_id != KNOWN_MATCH_ID:
        raise JudgeSetupError(
            f"model: it answers, but takes the known match {KNOWN_MATCH!r} for "
            f"{match.blocker_id or 'no match'} ({match.reason or 'no reason given'})"
        )
    if other.blocker_id is not None:
        raise JudgeSetupError(
            f"model: it answers, but takes the unrelated question {KNOWN_NON_MATCH!r} for "
            f"{other.blocker_id} ({other.reason or 'no reason given'})"
        )


def unfit(error: CallError, address: str) -> JudgeSetupError:
    """The error that names the wrong setting, with the way out."""
    match error.culprit:
        case "key":
            text = f"key: {address} refuses the API key: {error}"
        case "model" | "window":
            text = f"{error.culprit}: {error}"
        case None if error.status is not None and error.is_transient:
            text = f"server: {address} is there and cannot answer now: {error}: try again later"
        case _:
            text = f"address: {error}: is an OpenAI-compatible server running there?"
    return JudgeSetupError(text)
