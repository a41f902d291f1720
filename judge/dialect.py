"""What a server takes of a request, learned from what it refuses before it ever took it.

What came first holds for good: a part that was answered once is never left out later, since the
judge's fingerprint, which stands in the log, says how it asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from judge.call_error import RequestPart
    from judge.verdict import Setting

NOT_SENT = "not sent"
"""What a fingerprint says of a setting that the server does not take."""


class Dialect:
    """What one server takes."""

    def __init__(self) -> None:
        self._taken: set[RequestPart] = set()
        self._refused: set[RequestPart] = set()

    def sends(self, part: RequestPart) -> bool:
        """Whether a part is sent, `max_tokens` under that name."""
        return part not in self._refused

    @property
    def limit_name(self) -> str:
        """What the longest reply is called in a request."""
        return "max_tokens" if self.sends("max_tokens") else "max_completion_tokens"

    def settled(self, parts: Collection[RequestPart]) -> None:
        """Note that a request with these parts was answered."""
        self._taken.update(part for part in parts if self.sends(part))

    def gives_up(self, part: RequestPart | None, sent: Collection[RequestPart]) -> bool:
        """Leave a refused part out from now on; whether to ask again without it."""
        if part is None or part not in sent or part in self._taken:
            return False
        self._refused.add(part)
        return True

    def told(self, settings: Mapping[str, Setting]) -> dict[str, Setting]:
        """A request's settings as they reach the server, for the fingerprint."""
        told = dict(settings)
        for part in ("seed", "temperature"):
            if not self.sends(part):
                told[part] = NOT_SENT
        if not self.sends("max_tokens"):
            told[self.limit_name] = told.pop("max_tokens")
        return told
