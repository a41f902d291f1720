"""What came of one attempt, and whose doing it was (docs/session-log.md, Runs).

All agents end with success when the server is broken or listed no tools, so nothing here believes
an exit status alone. An agent must not be able to void a bad attempt: what it can bring about
itself (crashing, looping, denying its own calls, calling the server by hand) always counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clients.transcript import FailureKind
from hil_mcp.events import ClientConnected, Question, Submission, ToolCall, ToolsListed
from hil_mcp.runs.probe import PROBE_NAME
from hil_mcp.session import AGENT_GONE

if TYPE_CHECKING:
    from datetime import datetime

    from clients.transcript import Transcript
    from hil_mcp.run_folder import AttemptOutcome
    from hil_mcp.runs.model_traffic import ModelTraffic
    from hil_mcp.session_reader import SessionRecord

_ASK = "ask_human"


class Ending(StrEnum):
    """What ended the agent's program."""

    BY_ITSELF = "by itself"
    TIME_LIMIT = "time limit"
    IDLE_LIMIT = "idle limit"
    TURN_LIMIT = "turn limit"
    REQUEST_LIMIT = "request limit"
    MONEY_LIMIT = "money limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that is known of an attempt once its agent has ended.

    Attributes:
        ending: What ended it.
        exit_status: Negative, or above 128, for a signal; None when we killed it.
        transcript: What the agent says of itself.
        session: What the server saw.
        server_faults: What went wrong inside our own server.
        traffic: What went between agent and model; None when the agent reached it by itself.
    """

    ending: Ending
    exit_status: int | None
    transcript: Transcript
    session: SessionRecord
    server_faults: tuple[str, ...] = ()
    traffic: ModelTraffic | None = None

    @property
    def can_ask(self) -> bool:
        """Whether the agent was to have ask_human."""
        return self.session.start.mode.can_ask

    @property
    def asks_logged(self) -> int:
        """Calls of ask_human that the server saw, those with wrong arguments too."""
        refused = [call for call in self.session.of(ToolCall) if call.tool == _ASK]
        return len(self.session.of(Question)) + len(refused)

    @property
    def has_submitted(self) -> bool:
        """Whether there is an answer to grade."""
        return bool(self.session.of(Submission))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The outcome, why, and what else is remarkable."""

    outcome: AttemptOutcome
    detail: str = ""
    flags: tuple[str, ...] = ()


def rule(evidence: Evidence) -> Ruling:
    """Say what came of an attempt: the first of these that holds."""
    checks = (
        _our_fault,
        _tools_missing,
        _never_began,
        _endpoint_failed,
        _limit,
        _calls_lost,
        _own_account,
        _exit_status,
        _no_submission,
    )
    found = next((ruling for check in checks if (ruling := check(evidence))), None)
    ruling = found or Ruling(outcome="finished")
    return Ruling(outcome=ruling.outcome, detail=ruling.detail, flags=_flags(evidence))


def _our_fault(evidence: Evidence) -> Ruling | None:
    if evidence.server_faults:
        return Ruling(outcome="harness_error", detail=evidence.server_faults[0])
    for question in evidence.session.of(Question):
        if question.error is not None and question.error.class_ != AGENT_GONE:
            detail = f"the judge failed: {question.error.cause}"
            return Ruling(outcome="judge_error", detail=detail)
    return None


def _tools_missing(evidence: Evidence) -> Ruling | None:
    listed_at = _listed_at(evidence.session)
    if listed_at is None:
        return Ruling(outcome="no_tools", detail="the agent never asked the server for its tools")
    traffic, wanted = evidence.traffic, _expected_tool(evidence.session)
    if traffic is not None and traffic.first_tools is not None:
        if not traffic.first_tools.offers(wanted):
            detail = f"{wanted} was not offered to the model in its first turn"
            return Ruling(outcome="no_tools", detail=detail)
        if listed_at > traffic.first_tools.at:
            detail = "the model's first turn came before the server was asked for its tools"
            return Ruling(outcome="no_tools", detail=detail)
    if evidence.can_ask and evidence.transcript.offered is False:
        return Ruling(outcome="no_tools", detail="the agent says that it had no ask_human")
    failure = evidence.transcript.failure
    if failure is not None and failure.kind is FailureKind.NO_SERVER:
        return Ruling(outcome="no_tools", detail=failure.message)
    return None


def _never_began(evidence: Evidence) -> Ruling | None:
    """No model, no doing of the agent's: its program does not work here."""
    if evidence.traffic is not None:
        has_begun = evidence.traffic.first_tools is not None
    else:
        said = evidence.transcript
        has_begun = bool(said.turns or said.tool_calls or said.final_text)
    if has_begun or _endpoint_failed(evidence) is not None:
        return None
    failure = evidence.transcript.failure
    why = failure.message if failure else "it ended without a word"
    return Ruling(outcome="harness_error", detail=f"the agent never asked its model: {why}")


def _endpoint_failed(evidence: Evidence) -> Ruling | None:
    traffic = evidence.traffic
    if traffic is None:
        failure = evidence.transcript.failure
        if failure is not None and failure.kind is FailureKind.ENDPOINT:
            return Ruling(outcome="model_error", detail=failure.message)
        return None
    has_ended_well = (
        evidence.ending is Ending.BY_ITSELF
        and evidence.exit_status == 0
        and evidence.transcript.failure is None
        and evidence.has_submitted
    )
    if traffic.last_failure is not None and not has_ended_well:
        return Ruling(
            outcome="model_error", detail=f"the model's endpoint: {traffic.last_failure.message}"
        )
    is_cut_short = evidence.ending in (Ending.IDLE_LIMIT, Ending.TIME_LIMIT)
    has_answered = traffic.n_turns > 0
    if is_cut_short and traffic.first_tools is not None and not has_answered:
        return Ruling(outcome="model_error", detail="the model's endpoint never answered")
    if evidence.ending is Ending.IDLE_LIMIT and traffic.in_flight_since is not None:
        return Ruling(outcome="model_error", detail="the model's endpoint did not answer any more")
    return None


def _limit(evidence: Evidence) -> Ruling | None:
    match evidence.ending:
        case Ending.BY_ITSELF:
            return None
        case Ending.TIME_LIMIT:
            return Ruling(outcome="time_limit")
        case Ending.TURN_LIMIT:
            return Ruling(outcome="turn_limit")
        case Ending.MONEY_LIMIT:
            return Ruling(outcome="money_limit")
        case Ending.REQUEST_LIMIT:
            return Ruling(outcome="agent_looped", detail="it reached the limit of requests")
        case Ending.IDLE_LIMIT:
            return Ruling(outcome="agent_looped", detail="it did nothing any more")


def _calls_lost(evidence: Evidence) -> Ruling | None:
    """Fewer calls in the log than in the transcript: the way to the server lost some."""
    if not evidence.can_ask or _signal(evidence.exit_status) is not None:
        return None
    said = evidence.transcript
    missing = said.ask_calls - (said.denied or 0) - evidence.asks_logged
    if missing <= 0:
        return None
    detail = f"{missing} of {said.ask_calls} questions never reached the server"
    return Ruling(outcome="log_mismatch", detail=detail)


def _own_account(evidence: Evidence) -> Ruling | None:
    """What the agent tells of its end."""
    if evidence.transcript.denied:
        detail = f"{evidence.transcript.denied} calls refused by the agent's own permissions"
        return Ruling(outcome="denied_own_call", detail=detail)
    failure = evidence.transcript.failure
    if failure is None or _signal(evidence.exit_status) is not None:
        return None
    match failure.kind:
        case FailureKind.TURN_LIMIT:
            return Ruling(outcome="turn_limit", detail=failure.message)
        case FailureKind.COST_LIMIT:
            return Ruling(outcome="money_limit", detail=failure.message)
        case FailureKind.REFUSED:
            return Ruling(outcome="refused", detail=failure.message)
        case FailureKind.ENDPOINT | FailureKind.NO_SERVER | FailureKind.OTHER:
            return Ruling(outcome="agent_crashed", detail=failure.message)


def _exit_status(evidence: Evidence) -> Ruling | None:
    signal = _signal(evidence.exit_status)
    if signal is not None:
        return Ruling(outcome="agent_killed", detail=f"signal {signal}")
    if evidence.exit_status:
        return Ruling(outcome="agent_crashed", detail=f"exit status {evidence.exit_status}")
    return None


def _no_submission(evidence: Evidence) -> Ruling | None:
    return None if evidence.has_submitted else Ruling(outcome="no_submission")


def _flags(evidence: Evidence) -> tuple[str, ...]:
    said = evidence.transcript
    # A killed agent's last words may be lost, so that only an orderly end is compared.
    is_orderly = evidence.ending is Ending.BY_ITSELF and _signal(evidence.exit_status) is None
    flags = {
        "out_of_band_calls": is_orderly and evidence.asks_logged > said.ask_calls,
        "own_ask_tool": bool(said.own_asks),
        "lost_calls": bool(said.lost),
        "unread_transcript": said.unread_lines > 0,
    }
    return tuple(name for name, holds in flags.items() if holds)


def _listed_at(session: SessionRecord) -> datetime | None:
    """When the agent first got the tools; our own probe before the launch does not count."""
    probes = {each.connection for each in session.of(ClientConnected) if each.name == PROBE_NAME}
    times = [
        event.ts
        for event in session.events
        if isinstance(event.body, ToolsListed) and event.body.connection not in probes
    ]
    return min(times, default=None)


def _expected_tool(session: SessionRecord) -> str:
    """A tool that the agent must have been offered."""
    listed = [name for event in session.of(ToolsListed) for name in event.tools]
    return _ASK if session.start.mode.can_ask else next(iter(listed), "submit")


def _signal(exit_status: int | None) -> int | None:
    """The signal that ended a program, which a wrapper reports as 128 and more."""
    if exit_status is None or 0 <= exit_status <= 128:
        return None
    return -exit_status if exit_status < 0 else exit_status - 128
