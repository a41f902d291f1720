"""The events of a session log, `hil-mcp/session/1` (docs/session-log.md).

These are the bodies. `seq`, `ts`, `event` and `prev` belong to the line; the writer adds them. It
cannot pass a field that is not here; a reader ignores fields that a newer minor version
added, and skips and counts events of a name it does not know.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from hil_mcp.counting import CountingRules
from hil_mcp.modes import Mode

SCHEMA = "hil-mcp/session/1"

Outcome = Literal["answered", "repeat", "capped", "irrelevant", "too_short", "cant_answer"]
EndReason = Literal["disconnected", "timeout", "shutdown", "closed"]
SubmissionKind = Literal["sql", "patch"]


class _Body(BaseModel):
    # Models are built at first use: `serve` must answer before it needs any of them.
    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, validate_by_name=True, validate_by_alias=True
    )

    event: ClassVar[str]


class BlockerEntry(_Body):
    """A blocker as the log names it: never its resolution."""

    event: ClassVar[str] = ""
    id: str
    type: str | None
    category: str | None


class AgentInfo(_Body):
    """The agent as the one who started it declares it."""

    event: ClassVar[str] = ""
    name: str
    version: str | None = None
    model: str | None = None


class JudgeInfo(_Body):
    """The judge of a session."""

    event: ClassVar[str] = ""
    backend: str
    model: str | None
    model_reported: str | None
    policy: str
    prompt_digest: str | None
    sampling: dict[str, float | int | str | bool]
    trained_on: list[str] = Field(default_factory=list[str])
    members: list[str] = Field(default_factory=list[str])
    fingerprint: str


class ServerInfo(_Body):
    """The server that wrote the log."""

    event: ClassVar[str] = ""
    version: str
    git_revision: str | None = None


class SessionStart(_Body):
    """The first event: everything that changes a result."""

    event: ClassVar[str] = "session_start"
    schema_: str = Field(default=SCHEMA, validation_alias="schema", serialization_alias="schema")
    session_id: str
    task_id: str
    task_digest: str
    task_kind: Literal["sql", "repository"]
    mode: Mode
    counting_rules: CountingRules
    pass_number: int | None = None
    run_id: str | None = None
    attempt_id: str | None = None
    agent: AgentInfo | None = None
    isolation: str | None = None
    prompt_digest: str
    n_blockers: int
    blockers: list[BlockerEntry]
    registry_digest: str
    judge: JudgeInfo | None
    """None in modes without ask_human, where no judge is asked."""
    server: ServerInfo


class SessionResumed(_Body):
    """A restarted server goes on with the session of one that died."""

    event: ClassVar[str] = "session_resumed"
    bytes_cut: int
    """Length of the torn last line that was cut off, 0 when the log ended whole."""
    cut_digest: str | None


class ClientConnected(_Body):
    """An agent's program spoke for the first time on one connection."""

    event: ClassVar[str] = "client_connected"
    connection: int
    name: str | None
    version: str | None
    protocol_version: str | None
    transport: Literal["stdio", "http", "memory"]


class ToolsListed(_Body):
    """The agent's program asked for the tools and got these."""

    event: ClassVar[str] = "tools_listed"
    connection: int
    tools: list[str]
    digest: str


class ToolCall(_Body):
    """Any call but a question; a refused ask_human call, which is none, stands here too."""

    event: ClassVar[str] = "tool_call"
    tool: str
    arguments: dict[str, object]
    result_text: str
    """At most `RESULT_TEXT_LIMIT` characters of the reply."""
    result_length: int
    """Characters of the whole reply."""
    result_digest: str
    is_error: bool
    duration_ms: float
    flags: list[str] = []
    """Such as `history_probe`: a command that looked for the upstream history."""


class QuestionStarted(_Body):
    """A question reached the judge; without its `question` the server died while judging."""

    event: ClassVar[str] = "question_started"
    number: int
    question_digest: str


class VerdictEntry(_Body):
    """The judge's own decision, before the counting rules."""

    event: ClassVar[str] = ""
    blocker_id: str | None
    reason: str
    confidence: float | None = None
    raw: str | None = None
    latency_ms: float
    tokens: int | None = None
    attempts: int
    source: Literal["judge", "cache", "replay", "human"]
    fingerprint: str
    flags: list[str] = Field(default_factory=list[str])
    members: tuple[VerdictEntry, ...] = ()


class ErrorEntry(_Body):
    """Why the judge gave no verdict."""

    event: ClassVar[str] = ""
    class_: str = Field(validation_alias="class", serialization_alias="class")
    attempts: int
    cause: str


class Question(_Body):
    """Every ask_human call with a question in it."""

    event: ClassVar[str] = "question"
    number: int
    question: str
    response: str
    blocker_id: str | None
    """After the counting rules: None unless the agent got this blocker's resolution."""
    outcome: Outcome
    verdict: VerdictEntry | None
    """None when no judge was asked or none answered."""
    flags: list[str] = Field(default_factory=list[str])
    error: ErrorEntry | None = None
    tool_calls_before: int
    """Calls of other tools in this session before the question came."""
    meta: dict[str, object] = Field(default_factory=dict[str, object])
    """The agent's own ids for the call, as sent."""


class Delivery(_Body):
    """Written when an answer could not reach the agent; without it, it was sent."""

    event: ClassVar[str] = "delivery"
    number: int
    delivered: bool


class Submission(_Body):
    """The agent's answer; the last one counts."""

    event: ClassVar[str] = "submission"
    kind: SubmissionKind
    content: str | None = None
    path: str | None = None
    """Relative to the log's folder, for content that is kept beside it."""
    digest: str
    """SHA-256 of the content as UTF-8."""


class SessionEnd(_Body):
    """The session is over; a log without it was left by a crash."""

    event: ClassVar[str] = "session_end"
    reason: EndReason


EventBody = (
    SessionStart
    | SessionResumed
    | ClientConnected
    | ToolsListed
    | ToolCall
    | QuestionStarted
    | Question
    | Delivery
    | Submission
    | SessionEnd
)

EVENT_TYPES: dict[str, type[EventBody]] = {
    body.event: body
    for body in (
        SessionStart,
        SessionResumed,
        ClientConnected,
        ToolsListed,
        ToolCall,
        QuestionStarted,
        Question,
        Delivery,
        Submission,
        SessionEnd,
    )
}
