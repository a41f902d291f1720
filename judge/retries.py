"""Try again within one deadline: jittered waits, the server's own wishes honoured."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio

from judge.call_error import CallError
from judge.errors import JudgeError, JudgeSetupError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_Result = TypeVar("_Result")

# What a reply alone can tell to be a wrong setting; an address is wrong only when a probe says so,
# since a server that is away for a moment looks the same.
_UNFIT = {"key", "model", "window"}
_MARGIN_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Time and chance as the retries see them; tests give their own and wait for nothing."""

    clock: Callable[[], float] = time.monotonic
    """Seconds on any scale that only grows."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    random: Callable[[], float] = random.random
    """A number in [0, 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """How often and how long."""

    attempts: int = 3
    """Most requests for one question."""
    first_wait_s: float = 0.25
    """Mean wait after the first failure; doubled after each."""
    longest_wait_s: float = 4.0
    deadline_s: float = 29.5
    """For all attempts and the waits between them, the wait for a free place included. Less where
    the caller's own limit (an anyio cancel scope) ends sooner."""


async def with_retries(
    call: Callable[[int], Awaitable[_Result]], *, rules: RetryRules, pace: Pace
) -> _Result:
    """Call until it succeeds, a failure is final, or the attempts or the time are used up.

    Args:
        call: Gets the attempt's number, from 1; raises CallError.
        rules: How often and how long.
        pace: Time and chance.

    Raises:
        JudgeSetupError: A reply says that a setting is wrong.
        JudgeError: Every attempt failed, or the deadline passed; names the last cause.
    """
    # A caller's own limit comes first: it would end the call without a cause.
    left_s = anyio.current_effective_deadline() - anyio.current_time() - _MARGIN_S
    limit_s = min(rules.deadline_s, max(left_s, 0.0))
    ends = pace.clock() + limit_s
    attempt = 0
    last: CallError | None = None
    while attempt < rules.attempts:
        attempt += 1
        with anyio.move_on_after(ends - pace.clock()):
            try:
                return await call(attempt)
            except CallError as exc:
                last = exc
            if not last.is_transient or attempt == rules.attempts:
                raise _final(last, attempt) from last
            wait = _wait_s(attempt, last.retry_after_s, rules, pace)
            if pace.clock() + wait >= ends:
                raise JudgeError(
                    f"{last}; no time for another attempt within {limit_s:.3g} s",
                    error_class=last.error_class,
                    attempts=attempt,
                ) from last
            await pace.sleep(wait)
            continue
        break
    cause = f"; before that: {last}" if last else ""
    raise JudgeError(
        f"no verdict within {limit_s:.3g} s{cause}", error_class="timeout", attempts=attempt
    ) from last


def _wait_s(attempt: int, asked_s: float | None, rules: RetryRules, pace: Pace) -> float:
    if asked_s is not None:
        # A little later than asked, so that many waiting questions do not come back at once.
        return asked_s + pace.random() * rules.first_wait_s
    mean = min(rules.first_wait_s * 2 ** (attempt - 1), rules.longest_wait_s)
    return mean * (0.5 + pace.random())


def _final(error: CallError, attempts: int) -> JudgeError:
    if error.culprit in _UNFIT:
        return JudgeSetupError(f"{error.culprit}: {error}", attempts=attempts)
    return JudgeError(str(error), error_class=error.error_class, attempts=attempts)
