"""What is known of an agent's requests to its model: counts, tokens, failures, and the limits.

Whose doing a failure is must not be the agent's to say: only requests with the right key count,
and what an endpoint refuses after it has answered once counts only where agents cannot cause it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from hil_mcp.runs.model_answer import TokenCount
    from hil_mcp.runs.model_request import ModelRequest

_MILLION = 1_000_000
# No access, nothing left to pay with, too many requests; and every fault of the server's own.
_ENDPOINT_STATUSES = frozenset({401, 402, 403, 407, 408, 425, 429})
_KEPT_LIMIT = 32


class Limit(StrEnum):
    """Which limit an agent has reached."""

    TURNS = "turns"
    REQUESTS = "requests"
    COST = "cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD for a million tokens."""

    input_usd: float
    output_usd: float
    cached_input_usd: float | None = None
    """Of input read from a cache; the price of other input where None."""

    def of(self, tokens: TokenCount) -> float:
        """USD for these tokens."""
        cached_usd = self.input_usd if self.cached_input_usd is None else self.cached_input_usd
        fresh = tokens.input_tokens - tokens.cached_tokens
        return (
            fresh * self.input_usd
            + tokens.cached_tokens * cached_usd
            + tokens.output_tokens * self.output_usd
        ) / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much an agent may use; None is without end."""

    max_turns: int | None = None
    max_requests: int | None = None
    price: Price | None = None
    max_cost_usd: float | None = None
    """Needs a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Where the time comes from."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds."""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    """UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstTools:
    """The first tools that an agent offered to its model."""

    names: tuple[str, ...]
    """As the model sees them, with the agent's prefix."""
    monotonic_s: float
    at: datetime

    def offers(self, tool: str) -> bool:
        """Whether a tool of that name is among them, under whatever prefix."""
        return any(name == tool or name.endswith(f"_{tool}") for name in self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFailure:
    """A request that the model's endpoint failed."""

    status: int | None
    """HTTP status; None when the fault came otherwise."""
    message: str
    offered_tools: bool
    monotonic_s: float
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTraffic:
    """All that was seen up to a moment. Times in seconds are those of the clock's `monotonic`."""

    n_requests: int
    """All that arrived, of any kind."""
    n_turns: int
    """Requests that offered tools and were answered well."""
    n_unread: int
    """Requests for an answer whose body could not be understood: they count as no turn."""
    first_tools: FirstTools | None
    models: tuple[str, ...]
    """Models that requests with tools asked for, in the order of their first request."""
    tokens: TokenCount | None
    """None where no answer told of any."""
    n_without_tokens: int
    """Good answers that told no tokens: with them, tokens and cost are lower bounds."""
    cost_usd: float | None
    """None without a price or without tokens."""
    last_failure: EndpointFailure | None
    """The endpoint's newest failure, unless a request succeeded after it."""
    in_flight_since: float | None
    """Since when the oldest request waits for its answer's first byte."""
    last_activity: float | None
    """When a request last arrived or an answer last went on."""
    limit: Limit | None
    """The limit that was reached; nothing has gone out since."""


@dataclass(slots=True, eq=False)
class Exchange:
    """One request on its way."""

    credential: str | None
    """Stands for the key that it carried; None for one that cannot be right."""
    arrived_s: float
    asked: ModelRequest | None = None
    """None unless it asks for an answer of the model."""

    @property
    def offers_tools(self) -> bool:
        """Whether it offered the model tools."""
        return self.asked is not None and bool(self.asked.tools)


class TrafficMeter:
    """Counts one agent's requests."""

    def __init__(
        self, limits: Limits, *, on_limit: Callable[[Limit], None], clock: Clock | None = None
    ) -> None:
        """Begin at nothing.

        Args:
            limits: How much the agent may use.
            on_limit: Called once, when a limit is reached.
            clock: Where the time comes from.
        """
        self._limits = limits
        self._on_limit = on_limit
        self._clock = clock or Clock()
        self._n_requests = 0
        self._n_turns = 0
        self._n_unread = 0
        self._n_without_tokens = 0
        self._first_tools: FirstTools | None = None
        self._models: list[str] = []
        self._tokens: TokenCount | None = None
        self._last_failure: EndpointFailure | None = None
        self._waiting: set[Exchange] = set()
        self._last_activity: float | None = None
        self._limit: Limit | None = None
        self._good_credentials: set[str] = set()
        """Those that an answer was got with."""

    def arrived(self, *, credential: str | None, asked: ModelRequest | None) -> Exchange:
        """A request has arrived whole."""
        self.stirred()
        self._n_requests += 1
        exchange = Exchange(credential=credential, arrived_s=self._clock.monotonic(), asked=asked)
        if asked is not None and not asked.is_readable:
            self._n_unread += 1
        if asked is not None and asked.tools:
            self._note(asked)
        return exchange

    def admit(self, exchange: Exchange) -> bool:
        """Whether a request may go out. If so it waits until `answered`, `failed` or `left`."""
        limits = self._limits
        if limits.max_requests is not None and self._n_requests > limits.max_requests:
            self._reach(Limit.REQUESTS)
        elif (
            exchange.offers_tools
            and limits.max_turns is not None
            and self._n_turns >= limits.max_turns
        ):
            self._reach(Limit.TURNS)
        if self._limit is not None:
            return False
        self._waiting.add(exchange)
        return True

    def stirred(self) -> None:
        """Something has moved."""
        self._last_activity = self._clock.monotonic()

    def answered(self, exchange: Exchange, status: int) -> None:
        """An answer has begun."""
        self.left(exchange)
        self.stirred()
        if exchange.asked is None:
            return
        if 200 <= status < 300:
            self._succeeded(exchange)
        elif status in _ENDPOINT_STATUSES or status >= 500 or not self._good_credentials:
            # Until something has succeeded the agent had no word of its model to act on.
            self.failed(exchange, f"HTTP {status}", status=status)

    def ended(self, tokens: TokenCount | None) -> None:
        """A good answer of the model has ended, or been left by the agent."""
        if tokens is None:
            self._n_without_tokens += 1
            return
        self._tokens = tokens if self._tokens is None else self._tokens + tokens
        cost, most = self._cost(), self._limits.max_cost_usd
        if cost is not None and most is not None and cost > most:
            self._reach(Limit.COST)

    def failed(self, exchange: Exchange, message: str, *, status: int | None = None) -> None:
        """The endpoint has failed a request."""
        self.left(exchange)
        if exchange.asked is None or not self._is_right(exchange.credential, status):
            return
        self._last_failure = EndpointFailure(
            status=status,
            message=message,
            offered_tools=exchange.offers_tools,
            monotonic_s=self._clock.monotonic(),
            at=self._clock.now(),
        )

    def left(self, exchange: Exchange) -> None:
        """A request waits no longer."""
        self._waiting.discard(exchange)

    def observed(self) -> ModelTraffic:
        """All that was seen so far."""
        return ModelTraffic(
            n_requests=self._n_requests,
            n_turns=self._n_turns,
            n_unread=self._n_unread,
            first_tools=self._first_tools,
            models=tuple(self._models),
            tokens=self._tokens,
            n_without_tokens=self._n_without_tokens,
            cost_usd=self._cost(),
            last_failure=self._last_failure,
            in_flight_since=min((each.arrived_s for each in self._waiting), default=None),
            last_activity=self._last_activity,
            limit=self._limit,
        )

    def _note(self, asked: ModelRequest) -> None:
        if self._first_tools is None:
            self._first_tools = FirstTools(
                names=asked.tools, monotonic_s=self._clock.monotonic(), at=self._clock.now()
            )
        known = asked.model is None or asked.model in self._models
        if not known and len(self._models) < _KEPT_LIMIT:
            self._models.append(asked.model or "")

    def _succeeded(self, exchange: Exchange) -> None:
        self._n_turns += exchange.offers_tools
        if exchange.credential is not None and len(self._good_credentials) < _KEPT_LIMIT:
            self._good_credentials.add(exchange.credential)
        # A title that was got does not make up for the work that was not.
        failure = self._last_failure
        if failure is not None and (exchange.offers_tools or not failure.offered_tools):
            self._last_failure = None

    def _is_right(self, credential: str | None, status: int | None) -> bool:
        """Whether a failure may be put down to the endpoint, and not to a key of the agent's own.

        Without a key of ours to look for, any may be the user's until one has proved to be; a
        renewed login is another key, which is refused for its own sake by these statuses alone.
        """
        good = self._good_credentials
        is_refusal = status in (401, 403)
        return credential is not None and (not is_refusal or not good or credential in good)

    def _cost(self) -> float | None:
        price = self._limits.price
        return None if price is None or self._tokens is None else price.of(self._tokens)

    def _reach(self, limit: Limit) -> None:
        if self._limit is None:
            self._limit = limit
            self._on_limit(limit)
