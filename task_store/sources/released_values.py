"""Values that the released rows and `instances.json` write in more than one way."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, cast

from task_store.sources.candidate import checked_task_id

if TYPE_CHECKING:
    from task_store.fields import Fields
    from task_store.records import TaskId

# What the released runner makes of an id: `<id>__<model>__<mode>`, with the pass after it.
_EXPANDED_ID = re.compile(
    r"(?P<name>.+?)__.+__(?:baseline|ask_human|full_info)(?:__pass_\d+)?", re.DOTALL
)
_RELEASED_ID = re.compile(r"(?:public_)?(?P<name>(?:sql|swe)_\d+)")


def canonical_id(fields: Fields, key: str) -> TaskId:
    """The dataset's name of a task: `public_sql_7` and `sql_7__model__mode` are `sql_7`.

    The released SWE `instance_id` holds `__` by itself and stays as it is.
    """
    text = fields.text(key)
    expanded = _EXPANDED_ID.fullmatch(text)
    name = expanded["name"] if expanded else text
    released = _RELEASED_ID.fullmatch(name)
    return checked_task_id(fields, key, released["name"] if released else name)


def text_list(fields: Fields, key: str, *, single: bool) -> tuple[str, ...]:
    """A list of texts, as a list, as JSON text of one, or as plain text.

    Blank items are dropped and others made strings, as the released code does.

    Args:
        fields: The object.
        key: Its key; absent, null and blank are an empty list.
        single: Whether plain text stands for one item; it is refused otherwise.

    Raises:
        InvalidTaskError: Text that starts with `[` and is not JSON, or another kind of value.
    """
    value = fields.raw(key)
    if isinstance(value, str):
        if not value.strip():
            return ()
        value = _from_text(fields, key, value, single=single)
    if value is None:
        return ()
    if not isinstance(value, list):
        fields.fail(key, "is neither a list nor text")
    items = (str(item) for item in cast("list[object]", value) if item is not None)
    return tuple(item for item in items if item.strip())


def _from_text(fields: Fields, key: str, text: str, *, single: bool) -> object:
    if not text.lstrip().startswith("["):
        if single:
            return [text]
        fields.fail(key, "is plain text, a list is expected")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        fields.fail(key, 'starts with "[" and is not JSON')


def test_patch_of(fields: Fields, warnings: list[str]) -> str:
    """The `test_patch` of a task, with its last line end; empty where there is none.

    Args:
        fields: The object that holds it.
        warnings: Takes what had to be mended or is missing.
    """
    patch = fields.optional_text("test_patch") or ""
    if not patch:
        warnings.append("there is no test patch here: the task can be served and not graded")
    elif not patch.endswith("\n"):
        # `git apply` calls such a patch corrupt (docs/release.md, section 9, number 21).
        warnings.append("added the line end that the test patch lacks")
        return patch + "\n"
    return patch


def language_of(tests: tuple[str, ...]) -> str:
    """The language by the form of the test ids (release.md, 1a); `unknown` without any."""
    if any("::" in test for test in tests):
        return "python"
    if any(" | " in test for test in tests):
        return "js"
    return "go" if tests else "unknown"
