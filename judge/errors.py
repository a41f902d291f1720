"""Errors of the judge package.

JudgeError                 no verdict could be had; never to be read as "no blocker"
├── JudgeSetupError        the judge is not fit for use at all (model, key, window, address)
│   └── JudgeUsageError    no judge can be built from what was asked for (spec, policy, template)
└── PairsError             a file of pairs or labels cannot be read, or does not fit the tasks
"""

from __future__ import annotations


class JudgeError(Exception):
    """No verdict could be had for one question.

    Attributes:
        error_class: One word for the log: `connection`, `timeout`, `http`, `parse`, `truncated`,
            `replay_miss`, `judge_unfit` or `internal`.
        attempts: How many times the judge was asked, 0 when it could not be.
    """

    def __init__(self, message: str, *, error_class: str, attempts: int = 0) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.attempts = attempts


class JudgeSetupError(JudgeError):
    """The judge cannot work as configured; the message says which of its settings is wrong."""

    def __init__(self, message: str, *, attempts: int = 0) -> None:
        super().__init__(message, error_class="judge_unfit", attempts=attempts)


class JudgeUsageError(JudgeSetupError):
    """No judge can be built: an unknown spec or policy, a template that cannot be used, no file."""


class PairsError(JudgeError):
    """A file of pairs or labels cannot be used; names the file, the line and the way out."""

    def __init__(self, message: str) -> None:
        super().__init__(message, error_class="internal")
