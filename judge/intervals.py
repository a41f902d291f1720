"""Wilson's interval for a share, at 95 %."""

from __future__ import annotations

import math
from dataclasses import dataclass

_Z = 1.959963984540054
"""Two-sided 95 % of the normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share with its interval; undefined when nothing was counted."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """In [0, 1]."""
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Lower and upper end, in [0, 1]."""
        if not self.whole:
            return None
        n, p = self.whole, self.part / self.whole
        centre = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z / (1 + _Z**2 / n) * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n))
        # At none and at all the ends are 0 and 1; a float's rounding would leave a trace.
        return (
            0.0 if self.part == 0 else max(0.0, centre - half),
            1.0 if self.part == n else min(1.0, centre + half),
        )


def f1_of(share: Share) -> float | None:
    """F1 from the share of hits among hits, misses and false matches together: 2s / (1 + s).

    The same function takes the ends of that share's interval to the interval of F1.
    """
    return None if share.value is None else to_f1(share.value)


def to_f1(jaccard: float) -> float:
    """F1 that belongs to a Jaccard index, both in [0, 1]."""
    return 2 * jaccard / (1 + jaccard)
