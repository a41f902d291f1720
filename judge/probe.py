"""Find out before the first question whether a judge is fit, and which setting is wrong if not."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judge.call_error import CallError
from judge.errors import JudgeError, JudgeSetupError
from judge.prompt import cut_question
from judge.refusal import NO_API
from judge.retries import RetryRules, with_retries
from judge.served import offered
from judge.server_text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from judge.client import ChatClient
    from judge.retries import Pace
    from judge.served import ServedModel
    from judge.verdict import Judge, Verdict

PROBE_LIMIT_S = 10.0
"""Longest wait for the list of served models, in seconds, repeated requests included."""
# What a question's failure says of the settings where its cause names none. A server that hangs or
# breaks off answered the request for its list: it is there, and fails by itself.
_CULPRITS = {"parse": "model", "truncated": "model"}
_NO_LIST = {404, 405, 501}
"""Statuses of a server that has no list of models."""
_NAMES_SHOWN = 10
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
# Hieroglyphs: no tokenizer knows many of them, so that they take nearly a token for each byte.
LONGEST_NON_MATCH = cut_question(
    f"{KNOWN_NON_MATCH} It must hold these signs: " + "".join(map(chr, range(0x13000, 0x13400)))
)
"""As long as the judge reads a question: a context window that is too small fails at it."""


async def check_served(client: ChatClient, model: str, *, pace: Pace) -> bool:
    """See that the server answers, takes the key, and offers the model with enough context.

    A server that is busy, or away for a moment, is asked again.

    Returns:
        Whether the server told that the context window is large enough.

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
        if cause.status in _NO_LIST:
            return False  # the known questions will tell
        raise unfit(cause, client.base_url) from exc
    entry = offered(served, model)
    if entry is None:
        raise JudgeSetupError(
            f"model: {model!r} is not served at {client.base_url}; served there: {_names(served)}"
        )
    window = entry.context_tokens
    if window is not None and window < CONTEXT_TOKENS:
        raise JudgeSetupError(
            f"window: {model!r} takes {window} tokens at {client.base_url}; the judge needs "
            f"{CONTEXT_TOKENS}: start the server with a longer context"
        )
    return window is not None


async def known_answers(judge: Judge, *, fills_window: bool = False) -> None:
    """Ask one question that matches and one that does not.

    Args:
        judge: Whom to ask.
        fills_window: Make the second one as long as a question can be.

    Raises:
        JudgeSetupError: No verdict, or the wrong one.
    """
    match = await _verdict(judge, KNOWN_MATCH, culprits=_CULPRITS)
    if match.blocker_id != KNOWN_MATCH_ID:
        raise JudgeSetupError(
            f"model: it answers, but takes the known match {KNOWN_MATCH!r} for {_taken_for(match)}"
        )
    if fills_window:
        # Short of room for a question of this length only.
        other = await _verdict(
            judge, LONGEST_NON_MATCH, culprits=_CULPRITS | {"truncated": "window"}
        )
    else:
        other = await _verdict(judge, KNOWN_NON_MATCH, culprits=_CULPRITS)
    if other.blocker_id is not None:
        raise JudgeSetupError(
            f"model: it answers, but takes the unrelated question {KNOWN_NON_MATCH!r} for "
            f"{_taken_for(other)}"
        )


async def _verdict(judge: Judge, question: str, *, culprits: Mapping[str, str]) -> Verdict:
    try:
        return await judge.decide(question, KNOWN_REGISTRY)
    except JudgeSetupError:
        raise
    except JudgeError as exc:
        cause = exc.__cause__
        if isinstance(cause, CallError) and _is_elsewhere(cause):
            raise unfit(cause, "") from exc
        culprit = culprits.get(exc.error_class, "server")
        raise JudgeSetupError(f"{culprit}: no verdict on a known question: {exc}") from exc


def _is_elsewhere(error: CallError) -> bool:
    """Whether somebody answered who is no judge's server; no answer says nothing of the address."""
    return error.culprit == "address" and error.error_class in ("http", "parse")


def unfit(error: CallError, address: str) -> JudgeSetupError:
    """The error that names the wrong setting, with the way out."""
    match error.culprit:
        case "key":
            text = f"key: {address} refuses the API key: {error}"
        case "model" | "window":
            text = f"{error.culprit}: {error}"
        case None if error.status is not None and error.is_transient:
            text = f"server: {address} is there and cannot answer now: {error}: try again later"
        case None if error.status is not None:
            text = f"server: {address} is there and refuses to answer: {error}"
        case _:
            text = f"address: {error}: {error.advice or NO_API}"
    return JudgeSetupError(text)


def _names(served: Sequence[ServedModel]) -> str:
    names = [one_line(entry.name) for entry in served]
    more = len(names) - _NAMES_SHOWN
    shown = ", ".join(names[:_NAMES_SHOWN]) or "nothing"
    return f"{shown} and {more} more" if more > 0 else shown


def _taken_for(verdict: Verdict) -> str:
    reason = one_line(verdict.reason) or "no reason given"
    if "invalid_key" in verdict.flags:
        said = one_line(verdict.raw or "")
        return f"a key that names no blocker (invalid_key): {said}"
    return f"{verdict.blocker_id or 'no match'} ({reason})"
