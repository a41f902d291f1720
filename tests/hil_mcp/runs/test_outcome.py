"""What came of an attempt, and whose doing it was: one row of the table a test."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from clients.transcript import Failure, FailureKind, Transcript
from hil_mcp.events import (
    ClientConnected,
    ErrorEntry,
    Question,
    Submission,
    ToolCall,
    ToolsListed,
)
from hil_mcp.modes import Mode
from hil_mcp.runs.model_traffic import EndpointFailure, FirstTools, ModelTraffic
from hil_mcp.runs.outcome import Ending, Evidence, rule
from hil_mcp.runs.probe import PROBE_NAME
from hil_mcp.session import AGENT_GONE
from hil_mcp.session_reader import LoggedEvent, read_session
from tests.support.sessions import make_session

if TYPE_CHECKING:
    from pathlib import Path

    from hil_mcp.events import EventBody
    from hil_mcp.session_reader import SessionRecord

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = Transcript(
    ask_calls=0,
    tool_calls=1,
    turns=2,
    input_tokens=None,
    output_tokens=None,
    cost_usd=None,
    model=None,
    version=None,
    final_text="done",
    offered=None,
    denied=0,
    lost=0,
    own_asks=0,
    unread_lines=0,
    failure=None,
)
TRAFFIC = ModelTraffic(
    n_requests=2,
    n_turns=2,
    n_unread=0,
    first_tools=FirstTools(
        names=("mcp__hil__ask_human", "mcp__hil__submit_sql"), monotonic_s=1.0, at=NOON
    ),
    models=("m",),
    tokens=None,
    n_without_tokens=0,
    cost_usd=None,
    last_failure=None,
    in_flight_since=None,
    last_activity=None,
    limit=None,
)
ENDPOINT_DOWN = replace(
    TRAFFIC,
    last_failure=EndpointFailure(
        status=500, message="HTTP 500", offered_tools=True, monotonic_s=2.0, at=NOON
    ),
)
LISTED = ToolsListed(connection=2, tools=["ask_human", "submit_sql"], digest="d")
SUBMITTED = Submission(kind="sql", content="SELECT 1", digest="d")


def _question(number: int, error: ErrorEntry | None = None) -> Question:
    return Question(
        number=number,
        question="Which?",
        response="irrelevant question",
        blocker_id=None,
        outcome="irrelevant" if error is None else "cant_answer",
        verdict=None,
        flags=[],
        error=error,
        tool_calls_before=0,
        meta={},
    )


def _error(error_class: str) -> ErrorEntry:
    return ErrorEntry(class_=error_class, attempts=1, cause="HTTP 500")


async def _session(
    folder: Path, *bodies: EventBody, mode: Mode = Mode.ASK_HUMAN, listed_at: datetime = NOON
) -> SessionRecord:
    """A session with these events, the probe's and the agent's own connection before them."""
    session = make_session(folder / "session.jsonl", None, mode=mode)
    await session.begin()
    await session.close("closed")
    record = read_session(folder / "session.jsonl")
    connections = [
        ClientConnected(
            connection=number, name=name, version=None, protocol_version=None, transport="http"
        )
        for number, name in ((1, PROBE_NAME), (2, "agent"))
    ]
    probed = ToolsListed(connection=1, tools=["ask_human", "submit_sql"], digest="d")
    start, *_ = record.events
    added = [
        LoggedEvent(seq=number, ts=listed_at - timedelta(seconds=1), body=body)
        for number, body in enumerate((*connections, probed, *bodies), start=1)
    ]
    return replace(record, events=(start, *added))


async def _evidence(folder: Path, *bodies: EventBody, mode: Mode = Mode.ASK_HUMAN) -> Evidence:
    return Evidence(
        ending=Ending.BY_ITSELF,
        exit_status=0,
        transcript=SAID,
        session=await _session(folder, *bodies, mode=mode),
        traffic=TRAFFIC,
    )


@pytest.fixture
async def good(tmp_path: Path) -> Evidence:
    return await _evidence(tmp_path, LISTED, SUBMITTED)


async def test_an_agent_that_submits_and_ends_is_finished(good: Evidence) -> None:
    assert rule(good).outcome == "finished"
    assert not rule(good).flags


async def test_no_submission_counts_against_the_agent(tmp_path: Path) -> None:
    assert rule(await _evidence(tmp_path, LISTED)).outcome == "no_submission"


async def test_a_fault_of_our_server_is_the_harness_s(good: Evidence) -> None:
    ruling = rule(replace(good, server_faults=("a tool failed: OSError",)))

    assert (ruling.outcome, ruling.detail) == ("harness_error", "a tool failed: OSError")


async def test_a_question_that_the_judge_failed_is_the_judge_s(tmp_path: Path) -> None:
    evidence = await _evidence(tmp_path, LISTED, _question(1, _error("timeout")), SUBMITTED)

    assert rule(evidence).outcome == "judge_error"


async def test_a_question_that_the_agent_left_is_not_the_judge_s(tmp_path: Path) -> None:
    evidence = await _evidence(tmp_path, LISTED, _question(1, _error(AGENT_GONE)), SUBMITTED)
    evidence = replace(evidence, transcript=replace(SAID, ask_calls=1))

    assert rule(evidence).outcome == "finished"


async def test_our_own_probe_does_not_stand_for_the_agent(tmp_path: Path) -> None:
    assert rule(await _evidence(tmp_path, SUBMITTED)).outcome == "no_tools"


async def test_a_first_turn_without_the_tool_is_no_attempt(good: Evidence) -> None:
    first = FirstTools(names=("Bash",), monotonic_s=1.0, at=NOON)

    assert rule(replace(good, traffic=replace(TRAFFIC, first_tools=first))).outcome == "no_tools"


async def test_tools_listed_after_the_first_turn_came_too_late(tmp_path: Path) -> None:
    late = await _session(tmp_path, LISTED, SUBMITTED, listed_at=NOON + timedelta(seconds=5))
    evidence = Evidence(
        ending=Ending.BY_ITSELF, exit_status=0, transcript=SAID, session=late, traffic=TRAFFIC
    )

    assert rule(evidence).outcome == "no_tools"


async def test_the_agent_s_own_word_that_it_had_no_tool_is_believed(good: Evidence) -> None:
    assert rule(replace(good, transcript=replace(SAID, offered=False))).outcome == "no_tools"


async def test_a_mode_without_the_tool_does_not_ask_the_agent_for_it(tmp_path: Path) -> None:
    listed = ToolsListed(connection=2, tools=["submit_sql"], digest="d")
    evidence = await _evidence(tmp_path, listed, SUBMITTED, mode=Mode.BASELINE)

    ruling = rule(replace(evidence, transcript=replace(SAID, offered=False)))

    assert ruling.outcome == "finished"


@pytest.mark.parametrize("ending", [Ending.BY_ITSELF, Ending.TIME_LIMIT])
async def test_an_endpoint_that_fails_is_not_the_agent_s_doing(
    ending: Ending, good: Evidence
) -> None:
    failed = replace(good, ending=ending, exit_status=1, traffic=ENDPOINT_DOWN)

    assert rule(failed).outcome == "model_error"


async def test_a_failure_that_the_agent_got_over_changes_nothing(good: Evidence) -> None:
    assert rule(replace(good, traffic=ENDPOINT_DOWN)).outcome == "finished"


async def test_an_agent_that_claims_a_failed_endpoint_is_not_believed(good: Evidence) -> None:
    failure = Failure(kind=FailureKind.ENDPOINT, message="HTTP 429")
    claimed = replace(good, exit_status=1, transcript=replace(SAID, failure=failure))

    assert rule(claimed).outcome == "agent_crashed"
    assert rule(replace(claimed, traffic=None)).outcome == "model_error"


async def test_an_agent_that_never_asked_its_model_was_not_tried(good: Evidence) -> None:
    failure = Failure(kind=FailureKind.OTHER, message="unknown option --frobnicate")
    broken = replace(
        good,
        exit_status=2,
        transcript=replace(SAID, failure=failure),
        traffic=replace(TRAFFIC, first_tools=None),
    )

    ruling = rule(broken)

    assert ruling.outcome == "harness_error"
    assert "unknown option" in ruling.detail


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (Ending.TIME_LIMIT, "time_limit"),
        (Ending.TURN_LIMIT, "turn_limit"),
        (Ending.MONEY_LIMIT, "money_limit"),
        (Ending.REQUEST_LIMIT, "agent_looped"),
        (Ending.IDLE_LIMIT, "agent_looped"),
    ],
)
async def test_a_limit_counts_against_the_agent(
    ending: Ending, outcome: str, good: Evidence
) -> None:
    assert rule(replace(good, ending=ending, exit_status=None)).outcome == outcome


async def test_an_idle_agent_that_waits_for_its_model_is_not_to_blame(good: Evidence) -> None:
    waiting = replace(good, ending=Ending.IDLE_LIMIT, traffic=replace(TRAFFIC, in_flight_since=1.0))

    assert rule(waiting).outcome == "model_error"


async def test_a_model_that_never_answered_is_not_the_agent_s_doing(good: Evidence) -> None:
    silent = replace(TRAFFIC, n_turns=0)

    ruling = rule(replace(good, ending=Ending.TIME_LIMIT, exit_status=None, traffic=silent))

    assert ruling.outcome == "model_error"


async def test_fewer_questions_in_the_log_than_in_the_transcript_is_the_harness_s(
    good: Evidence,
) -> None:
    assert rule(replace(good, transcript=replace(SAID, ask_calls=1))).outcome == "log_mismatch"


async def test_more_questions_in_the_log_than_in_the_transcript_are_flagged_and_count(
    tmp_path: Path,
) -> None:
    ruling = rule(await _evidence(tmp_path, LISTED, _question(1), SUBMITTED))

    assert (ruling.outcome, ruling.flags) == ("finished", ("out_of_band_calls",))


async def test_a_refused_question_is_in_both_counts(tmp_path: Path) -> None:
    refused = ToolCall(
        tool="ask_human",
        arguments={},
        result_text="",
        result_length=0,
        result_digest="",
        is_error=True,
        duration_ms=1.0,
    )
    evidence = await _evidence(tmp_path, LISTED, refused, SUBMITTED)

    ruling = rule(replace(evidence, transcript=replace(SAID, ask_calls=1)))

    assert (ruling.outcome, ruling.flags) == ("finished", ())


@pytest.mark.parametrize("status", [-9, 137])
async def test_a_killed_agent_counts_and_its_lost_last_words_do_not(
    status: int, tmp_path: Path
) -> None:
    evidence = await _evidence(tmp_path, LISTED, _question(1), SUBMITTED)
    killed = replace(evidence, exit_status=status, transcript=replace(SAID, ask_calls=2))

    ruling = rule(killed)

    assert (ruling.outcome, ruling.detail, ruling.flags) == ("agent_killed", "signal 9", ())


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (FailureKind.TURN_LIMIT, "turn_limit"),
        (FailureKind.COST_LIMIT, "money_limit"),
        (FailureKind.REFUSED, "refused"),
        (FailureKind.OTHER, "agent_crashed"),
    ],
)
async def test_what_the_agent_tells_of_its_end_counts(
    kind: FailureKind, outcome: str, good: Evidence
) -> None:
    failed = replace(SAID, failure=Failure(kind=kind, message="so it says"))

    ruling = rule(replace(good, exit_status=1, transcript=failed))

    assert (ruling.outcome, ruling.detail) == (outcome, "so it says")


async def test_a_server_that_the_agent_could_not_use_is_the_harness_s(good: Evidence) -> None:
    failure = Failure(kind=FailureKind.NO_SERVER, message="required MCP servers failed")

    assert rule(replace(good, transcript=replace(SAID, failure=failure))).outcome == "no_tools"


async def test_a_call_that_the_agent_refused_itself_counts_against_it(good: Evidence) -> None:
    refused = replace(SAID, ask_calls=1, denied=1)

    assert rule(replace(good, transcript=refused)).outcome == "denied_own_call"


async def test_a_bare_exit_status_is_a_crash(good: Evidence) -> None:
    assert rule(replace(good, exit_status=3)).outcome == "agent_crashed"


async def test_an_agent_s_own_way_to_ask_is_flagged(good: Evidence) -> None:
    assert rule(replace(good, transcript=replace(SAID, own_asks=1))).flags == ("own_ask_tool",)
