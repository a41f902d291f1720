"""What a scripted model answers: turns with text and tool calls, or faults, chosen by a behaviour.

A behaviour is a function of the request. The turn's number comes out of the request itself (how
many rounds of tool calls the conversation already holds), so that a retry of the agent gets the
same turn again and one endpoint can serve many conversations at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call."""

    tool: str
    """The tool's own name; the agent's prefix (`mcp__hil__`, `hil_`, a namespace) is found."""
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model. Several calls are made in parallel; without any, the agent stops."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    delay_s: float = 0.0
    """Wait before the answer, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An answer that is none: an HTTP error, or a connection that breaks."""

    status: int = 500
    body: Mapping[str, object] | None = None
    """The body; by default an error of the API family that was asked."""
    message: str = "scripted failure"
    delay_s: float = 0.0
    drop: bool = False
    """Close the connection without an answer; `status` is not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that every answer claims to have used."""

    input_tokens: int = 100
    output_tokens: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request of the agent, whichever API family it came by."""

    path: str
    model: str
    key: str
    """The API key as sent, so that one endpoint can tell its callers apart."""
    tools: tuple[str, ...]
    """Every tool offered, as the model would name it."""
    turn: int
    """Rounds of tool calls that the conversation already holds."""
    said: str
    """Everything the user and the system said, joined: the prompt among other things."""
    results: tuple[str, ...]
    """The results of the tool calls made so far, in order, as the model sees them."""

    def offers(self, tool: str) -> bool:
        """Whether a tool of that name is in the list, under whatever prefix."""
        return any(name == tool or name.endswith(f"_{tool}") for name in self.tools)


Behaviour: TypeAlias = Callable[[ModelRequest], "Turn | Fault"]

DONE = Turn(text="done")


def play(*turns: Turn | Fault, then: Turn | Fault = DONE) -> Behaviour:
    """Play the turns in order, and `then` for every round after the last."""

    def behaviour(request: ModelRequest) -> Turn | Fault:
        return turns[request.turn] if request.turn < len(turns) else then

    return behaviour


def after_faults(*faults: Fault, then: Behaviour) -> Behaviour:
    """Answer the first requests with the faults, one each, and the later ones as `then` does."""
    left = list(faults)
    lock = threading.Lock()

    def behaviour(request: ModelRequest) -> Turn | Fault:
        with lock:
            fault = left.pop(0) if left else None
        return fault or then(request)

    return behaviour
