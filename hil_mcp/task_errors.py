"""One error out of a task group: callers catch by type, and a group hides the type."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def first_error() -> Generator[None]:
    """Raise the first error of a group in place of the group, with the group as its cause."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise _first(group) from group


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    if isinstance(first, BaseExceptionGroup):
        return _first(cast("BaseExceptionGroup[BaseException]", first))
    return first
