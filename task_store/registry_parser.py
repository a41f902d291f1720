"""Blocker registries as they come from outside -> `Registry`.

Takes every form that the benchmark's releases have had (release.md, 1a): ids with outer
blanks or inside a markdown fence, a type in a list, older names of keys, and four wrappings. What
had to be mended is said in words; what is not certain is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from task_store.errors import InvalidTaskError
from task_store.fields import Fields, kind_of
from task_store.records import Blocker, BlockerId, Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

# First that is there wins (docs/release.md, section 1a).
_EXAMPLE_KEYS = ("example_questions", "acceptable_questions", "trigger_questions")
_LIST_KEYS = ("blockers", "entries")

# Words by which a judge says "no blocker": a blocker of that name could not be told from none.
RESERVED_IDS = frozenset(
    {"unknown", "null", "none", "nil", "n/a", "no_match", "no-match", "nomatch", "irrelevant"}
)

_FENCE = re.compile(r"```(?:[\w+-]*[ \t]*\n)?(?P<inside>.*?)```", re.DOTALL)
_BULLET = re.compile(r"\s*[-*\u2022]\s+")
_MAX_WRAPPINGS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRegistry:
    """A registry and what was mended to read it."""

    registry: Registry
    warnings: tuple[str, ...]


def parse_registry(raw: object, *, place: str, at: str = "") -> ParsedRegistry:
    """Read a registry in any of its released forms; `raw` is left as it is.

    Args:
        raw: `{"blockers": […]}`, `{"entries": […]}`, a bare list, a JSON string of one of these,
            or None or blank text for no blockers.
        place: File, or file and line, as shown to the user.
        at: Dotted path of the registry in that file.

    Raises:
        InvalidTaskError: A field is missing or of the wrong type, an id is used twice (compared
            without case) or is a word by which a judge says "none".
    """
    warnings: list[str] = []
    fields = _blocker_fields(raw, place=place, at=at)
    blockers = tuple(_parse_blocker(item, warnings) for item in fields)
    _refuse_duplicates(blockers, place=place, at=at)
    if not blockers:
        warnings.append("the registry is empty: no blocker was loaded")
    return ParsedRegistry(registry=Registry(blockers=blockers), warnings=tuple(warnings))


def clean_id(raw: str) -> str:
    """An id without outer blanks and without a markdown fence around it."""
    text = raw.strip()
    fenced = _FENCE.fullmatch(text)
    if fenced is None:
        return text
    inside = fenced["inside"].strip()
    try:
        value = json.loads(inside)
    except json.JSONDecodeError:
        return inside
    if isinstance(value, dict):
        value = cast("dict[str, object]", value).get("id")
    return value.strip() if isinstance(value, str) else inside


def clean_question(raw: str) -> str:
    """An example question without the bullet that the released SWE questions start with."""
    return _BULLET.sub("", raw, count=1) if _BULLET.match(raw) else raw


def _blocker_fields(raw: object, *, place: str, at: str) -> tuple[Fields, ...]:
    value = _unwrap(raw, place=place, at=at)
    if isinstance(value, list):
        # As an object, so that the paths in errors are the same for every wrapping.
        return Fields({"blockers": cast("object", value)}, place=place, at=at).tables("blockers")
    if not isinstance(value, dict):
        reason = f"is {kind_of(value)}, an object or a list of blockers is expected"
        raise InvalidTaskError(place, at, reason)
    outer = Fields(cast("dict[str, object]", value), place=place, at=at)
    for key in _LIST_KEYS:
        if key in value:
            return outer.tables(key)
    raise InvalidTaskError(place, at, 'has no "blockers"')


def _unwrap(raw: object, *, place: str, at: str) -> object:
    value = raw
    for _ in range(_MAX_WRAPPINGS):
        if value is None or (isinstance(value, str) and not value.strip()):
            return []
        if not isinstance(value, str):
            return value
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError) as exc:
            raise InvalidTaskError(place, at, "is text that is not JSON") from exc
    return value


def _parse_blocker(fields: Fields, warnings: list[str]) -> Blocker:
    id_key = "id" if fields.has("id") else "blocker_id"
    raw_id = fields.text(id_key if fields.has(id_key) else "id")
    blocker_id = clean_id(raw_id)
    if not blocker_id:
        fields.fail(id_key, f"{raw_id!r} holds no id")
    if blocker_id.casefold() in RESERVED_IDS:
        fields.fail(id_key, f"{blocker_id!r} is a word by which a judge says that none matches")
    if blocker_id != raw_id:
        warnings.append(f"{fields.path_of(id_key)}: read {raw_id!r} as {blocker_id!r}")
    return Blocker(
        blocker_id=BlockerId(blocker_id),
        description=fields.text("description"),
        resolution=fields.text("resolution"),
        example_questions=tuple(clean_question(text) for text in _examples(fields)),
        type=_single(fields, "type"),
        subtype=_single(fields, "subtype"),
    )


def _examples(fields: Fields) -> Sequence[str]:
    key = next((key for key in _EXAMPLE_KEYS if fields.has(key)), _EXAMPLE_KEYS[0])
    return fields.texts(key)


def _single(fields: Fields, key: str) -> str | None:
    """A string that may stand in a list of one."""
    if not isinstance(fields.raw(key), list):
        return fields.optional_text(key)
    values = fields.texts(key)
    if len(values) > 1:
        fields.fail(key, f"holds {len(values)} values, one is expected")
    return values[0] if values else None


def _refuse_duplicates(blockers: Sequence[Blocker], *, place: str, at: str) -> None:
    first: dict[str, int] = {}
    for number, blocker in enumerate(blockers):
        # A judge's reply is compared without case, so two ids may not differ by case alone.
        earlier = first.setdefault(blocker.blocker_id.casefold(), number)
        if earlier != number:
            raise InvalidTaskError(
                place,
                f"{at}.blockers" if at else "blockers",
                f"the id {blocker.blocker_id!r} stands at index {earlier} and index {number}",
            )
