"""The order in which people count."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"(\d+)")


def natural_key(text: str) -> list[tuple[int, str]]:
    """A sort key that puts `sql_2` before `sql_10`."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(text) if part
    ]
