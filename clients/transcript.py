"""What a run of an agent says about itself, in one form for all agents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from collections.abc import Sequence

# HTTP statuses and the words that the agents' own messages use for an endpoint that fails them.
_ENDPOINT = re.compile(
    r"\b(401|403|429|5\d\d)\b|rate.?limit|unauthori[sz]ed|api.?key|quota|overloaded"
    r"|stream disconnected|fetch failed|timed? ?out|ECONN|connection|waiting for network",
    re.IGNORECASE,
)
# How the agents' MCP clients put it when a server is gone or silent. Only at the beginning: an
# error of the server's own may repeat what the agent sent, and no agent is to lose a call at will.
_LOST = re.compile(
    r"(?:<tool_use_error>)?(?:Error: )?(?:MCP error -3200[01]: )?"
    r"(?:Not connected|Connection closed|Request timed out|The operation timed out|fetch failed"
    r"|Streamable HTTP error|ECONN[A-Z]+|The socket connection was closed|Unable to connect"
    r'|MCP server "[^"]*" is not connected|No such tool available|Tool "[^"]*" not found)'
)
_Event = TypeVar("_Event", bound=BaseModel)


class FailureKind(StrEnum):
    """Why a run ended without success, as far as the agent tells."""

    ENDPOINT = "endpoint"
    """The model's endpoint: not reached, no access, too many requests, a fault of its own."""
    NO_SERVER = "no_server"
    """The agent could not use our server."""
    TURN_LIMIT = "turn_limit"
    COST_LIMIT = "cost_limit"
    REFUSED = "refused"
    """The agent or its model declined."""
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a run failed."""

    kind: FailureKind
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One run. What an agent does not tell is None, never 0."""

    ask_calls: int
    """Calls of ask_human that the agent shows, failed ones too."""
    tool_calls: int
    """Calls of any tool, ask_human among them."""
    turns: int | None
    """Answers of the model."""
    input_tokens: int | None
    """With those read from a cache."""
    output_tokens: int | None
    cost_usd: float | None
    """By the agent's own price table."""
    model: str | None
    version: str | None
    """The agent's own version."""
    final_text: str
    """The last thing that the agent said."""
    offered: bool | None
    """Whether the agent says that it had ask_human at the start; None where it says nothing."""
    own_asks: int | None
    """Calls of a tool of the agent's own that asks its user, refused ones too."""
    denied: int | None
    """Calls to our server that the agent's own permissions refused: the agent's doing."""
    lost: int | None
    """Calls to our server that did not get through: its link broke, or its tools were gone."""
    unread_lines: int
    """Lines of output that are no event."""
    failure: Failure | None


def read_events(text: str, event: type[_Event]) -> tuple[Sequence[_Event], int]:
    """Read JSON Lines.

    Returns:
        The events in order, and the number of lines that are none.
    """
    events: list[_Event] = []
    unread = 0
    for line in text.split("\n"):  # not splitlines: a text may hold U+2028
        if not line.strip():
            continue
        try:
            events.append(event.model_validate_json(line))
        except ValidationError:
            unread += 1
    return events, unread


def is_lost(error: str) -> bool:
    """Whether an agent's error for a call says that the server was not reached."""
    return _LOST.match(error) is not None


def failure_of(message: str) -> Failure:
    """A failure known by its message alone: the endpoint's when the message speaks of it."""
    kind = FailureKind.ENDPOINT if _ENDPOINT.search(message) else FailureKind.OTHER
    return Failure(kind=kind, message=message)
