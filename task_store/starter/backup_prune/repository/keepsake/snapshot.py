"""One snapshot, and how it is written on a line of the index."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timezone

_TIME_FORMAT = "%Y-%m-%dT%H:%M"
_FLAGS = {"yes": True, "no": False}


class BadLineError(ValueError):
    """A line of the index cannot be read."""


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as the index knows it; `made_at` is an aware time in UTC."""

    name: str
    made_at: datetime
    size: int
    verified: bool = False
    pinned: bool = False

    @property
    def host(self) -> str:
        """The host is the first part of the name."""
        return self.name.split("-", 1)[0]

    @property
    def day(self) -> date:
        """The UTC day on which the snapshot was made."""
        return self.made_at.date()


def parse_line(line: str) -> Snapshot:
    """Read one line of the index.

    Raises BadLineError when a field is missing or does not make sense.
    """
    fields = line.rstrip("\n").split("\t")
    if len(fields) != 5:
        raise BadLineError(f"expected 5 fields, found {len(fields)}: {line!r}")
    name, made_at, size, verified, pinned = fields
    try:
        moment = datetime.strptime(made_at, _TIME_FORMAT).replace(tzinfo=timezone.utc)
    except ValueError:
        raise BadLineError(f"{made_at!r} is not a time") from None
    if not size.isdigit():
        raise BadLineError(f"{size!r} is not a size")
    return Snapshot(name, moment, int(size), _flag(verified), _flag(pinned))


def format_line(snapshot: Snapshot) -> str:
    """Write a snapshot as `parse_line` reads it, without a line end."""
    return "\t".join(
        [
            snapshot.name,
            snapshot.made_at.strftime(_TIME_FORMAT),
            str(snapshot.size),
            "yes" if snapshot.verified else "no",
            "yes" if snapshot.pinned else "no",
        ]
    )


def _flag(text: str) -> bool:
    if text not in _FLAGS:
        raise BadLineError(f"{text!r} is neither yes nor no")
    return _FLAGS[text]
