"""One request to a judge's server that got no usable reply: what is known of the failure."""

from __future__ import annotations

from typing import Literal

CallErrorClass = Literal["connection", "timeout", "http", "parse", "truncated", "internal"]
Culprit = Literal["address", "key", "model", "window"]
RequestPart = Literal["response_format", "max_tokens", "seed", "temperature"]
"""Parts of a request that some servers do not take and a judge can do without."""


class CallError(Exception):
    """One request got no usable reply.

    Attributes:
        error_class: As in `JudgeError`.
        is_transient: Whether the same request may do better a moment later.
        retry_after_s: What the server asked to wait, in seconds; None when it did not say.
        culprit: The setting that is wrong, when the reply tells.
        refused: The part of the request that the server does not take, when the reply tells.
        status: HTTP status, when there was one; the code that stands for it in an error's body.
        advice: What to do about it; None when only the message helps.
    """

    def __init__(
        self,
        message: str,
        *,
        error_class: CallErrorClass,
        is_transient: bool,
        retry_after_s: float | None = None,
        culprit: Culprit | None = None,
        refused: RequestPart | None = None,
        status: int | None = None,
        advice: str | None = None,
    ) -> None:
        super().__init__(message)
        self.error_class: CallErrorClass = error_class
        self.is_transient = is_transient
        self.retry_after_s = retry_after_s
        self.culprit: Culprit | None = culprit
        self.refused: RequestPart | None = refused
        self.status = status
        self.advice = advice
