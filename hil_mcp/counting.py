"""Counting rules: how many answers a task gives.

`paper` has no cap, as the paper describes none; `release-1` gives three answers a task, checked
before the judge is asked; `release-2`, the default, gives two answers a blocker, checked after it
(docs/release.md, section 0). Repeats use up answers; rejections and failed judgements do not.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

RELEASE_1_ANSWERS_A_TASK = 3
RELEASE_2_ANSWERS_A_BLOCKER = 2


class CountingRules(StrEnum):
    """The name of a set of rules, as it stands in the log."""

    PAPER = "paper"
    RELEASE_1 = "release-1"
    RELEASE_2 = "release-2"


class AnswerCount:
    """How many answers one session has given, by blocker. Rebuilt from the log after a restart."""

    def __init__(self, rules: CountingRules) -> None:
        self._rules = rules
        self._answers: Counter[str] = Counter()

    def add(self, blocker_id: str) -> None:
        """Count one answer that the agent was given."""
        self._answers[blocker_id] += 1

    def is_discovered(self, blocker_id: str) -> bool:
        """Whether the agent has already been given this blocker's resolution."""
        return self._answers[blocker_id] > 0

    @property
    def is_used_up(self) -> bool:
        """Whether no further question can be answered, whatever it is about."""
        return (
            self._rules is CountingRules.RELEASE_1
            and self._answers.total() >= RELEASE_1_ANSWERS_A_TASK
        )

    def allows(self, blocker_id: str) -> bool:
        """Whether a question on this blocker may be answered now."""
        if self._rules is CountingRules.RELEASE_2:
            return self._answers[blocker_id] < RELEASE_2_ANSWERS_A_BLOCKER
        return not self.is_used_up
