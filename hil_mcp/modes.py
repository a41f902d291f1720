"""Modes: what the agent gets (docs/guide.md, Modes)."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """One of the four ways in which a task is given to an agent."""

    BASELINE = "baseline"
    ASK_HUMAN = "ask_human"
    FULL_INFO = "full_info"
    SPEC_ONLY = "spec_only"

    @property
    def can_ask(self) -> bool:
        """Whether the agent gets `ask_human`; only then are the ask figures defined."""
        return self in (Mode.ASK_HUMAN, Mode.SPEC_ONLY)

    @property
    def has_environment(self) -> bool:
        """Whether the agent gets the kind's tools and not only the one that submits."""
        return self is not Mode.SPEC_ONLY
