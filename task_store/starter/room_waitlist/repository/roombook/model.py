"""Members, bookings and entries of the waiting list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

KINDS = ("resident", "guest", "trainee")


@dataclass(frozen=True)
class Member:
    """Somebody who may book; `kind` is one of KINDS."""

    name: str
    kind: str
    joined: datetime

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is no kind of member")


@dataclass(frozen=True)
class Booking:
    """A room taken by a member from `start` to `end`."""

    number: int
    member: str
    room: str
    start: datetime
    end: datetime

    def overlaps(self, start: datetime, end: datetime) -> bool:
        """Whether the booking and the time have a minute in common."""
        return self.start < end and start < self.end


@dataclass(frozen=True)
class WaitEntry:
    """A member who waits for a room; `entered` is when the wish was noted."""

    member: str
    room: str
    start: datetime
    end: datetime
    entered: datetime
