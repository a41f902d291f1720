"""Read what a judge model wrote: tolerant of the form, exact about the answer.

A reply that cannot be read raises; it is never taken for "no blocker". A key that can be read but
names no blocker is "no blocker" with a flag: nothing is guessed from a near miss.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from judge.server_text import encodable

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_MATCH = "none"
"""The answer for "no blocker" that the prompt offers."""
# What models write instead of a JSON null; docs/release.md, section 3, and the words of our prompt.
_NO_MATCH_WORDS = frozenset(
    {
        NO_MATCH,
        "null",
        "no_match",
        "no-match",
        "no match",
        "nomatch",
        "nil",
        "n/a",
        "irrelevant",
        "",
    }
)
_KEY_NAMES = ("blocker_key", "blocker")
_REASON_NAMES = ("reason", "reasoning")
_REASON_LIMIT = 500
_MULTI_MATCH = "multi_match"
_INVALID_KEY = "invalid_key"

_BEGINS_WITH_ANSWER = re.compile(r"\s*(?:```[a-z]*\s*)?\{", re.IGNORECASE)
_THINKING_BEGINS = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THINKING_ENDS = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_OBJECT_START = re.compile(r"\{\s*[\"}]")
_FENCED = re.compile(r"^```[a-z]*\s*\n(?P<inner>.*?)\n?```$", re.DOTALL | re.IGNORECASE)
_CLOSING = re.compile(r"\s*[}\]]")
_LONGEST_REPLY = 50_000
"""Characters; a verdict has a few hundred."""


class UnreadableReplyError(Exception):
    """The reply holds no verdict; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one reply says."""

    blocker_id: str | None
    reason: str
    flags: tuple[str, ...] = ()


def read_reply(text: str, answers: Mapping[str, str]) -> Reading:
    """Read one reply.

    Args:
        text: What the model wrote, prose and fences around the JSON object allowed.
        answers: Blocker id by each answer that is accepted: aliases and the ids themselves.

    Raises:
        UnreadableReplyError: No JSON object with a key in it, or several that disagree.
    """
    if len(text) > _LONGEST_REPLY:
        raise UnreadableReplyError(f"the reply has {len(text)} characters")
    readings = {_read_object(value, answers) for value in _objects(_without_thinking(text))}
    verdicts = {(reading.blocker_id, reading.flags) for reading in readings}
    if len(verdicts) > 1:
        raise UnreadableReplyError("the reply holds several verdicts that disagree")
    if not readings:
        raise UnreadableReplyError("the reply holds no JSON object with a blocker_key")
    return min(readings, key=lambda reading: reading.reason)


def _without_thinking(text: str) -> str:
    """Drop what a model thought before its answer.

    The asker's words may be quoted in the thoughts or in the answer, with marks of thinking and an
    answer of their own in them: where the thinking ends must be beyond doubt.
    """
    answer = _OBJECT_START.search(text)
    begins = _THINKING_BEGINS.search(text)
    is_marked = begins is not None and (answer is None or begins.start() < answer.start())
    ends = list(_THINKING_ENDS.finditer(text))
    if not is_marked and (not ends or _BEGINS_WITH_ANSWER.match(text)):
        return text
    if not ends:
        raise UnreadableReplyError("the reply ends inside the model's thinking")
    # Chat templates that open the thinking themselves leave only its end in the reply.
    doubtful = text[ends[0].end() if is_marked else 0 : ends[-1].start()]
    if _OBJECT_START.search(doubtful):
        raise UnreadableReplyError("it cannot be told where the model's thinking ends")
    rest = text[ends[-1].end() :]
    if _THINKING_BEGINS.search(rest.partition("{")[0]):
        raise UnreadableReplyError("the reply ends inside the model's thinking")
    return rest


def _fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if any(name in _KEY_NAMES and fields[name] != value for name, value in pairs):
        raise UnreadableReplyError("the reply names a key twice, with two answers")
    return fields


# Models put raw line ends into strings.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_fields)


def _objects(text: str) -> list[dict[str, object]]:
    """The JSON objects with a key in them that stand side by side in the text.

    An object that cannot be read ends the search with an error: what stands inside it may be the
    asker's own words, quoted without escapes.
    """
    found: list[dict[str, object]] = []
    while (start := _OBJECT_START.search(text)) is not None:
        fields, text = _first_object(text[start.start() :])
        if any(name in fields for name in _KEY_NAMES):
            found.append(fields)
    return found


def _first_object(text: str) -> tuple[dict[str, object], str]:
    """The object that the text begins with, and the text after it."""
    for form in (text, _without_trailing_commas(text)):
        try:
            value, end = cast("tuple[dict[str, object], int]", _DECODER.raw_decode(form))
        except (json.JSONDecodeError, RecursionError):
            continue
        return value, form[end:]
    raise UnreadableReplyError("the reply's JSON is broken")


def _without_trailing_commas(text: str) -> str:
    """Drop commas before a closing bracket, outside strings; the published template shows one."""
    kept: list[str] = []
    in_string = is_escaped = False
    for index, char in enumerate(text):
        if in_string:
            in_string = is_escaped or char != '"'
            is_escaped = char == "\\" and not is_escaped
        elif char == '"':
            in_string = True
        elif char == "," and _CLOSING.match(text, index + 1):
            continue
        kept.append(char)
    return "".join(kept)


def _read_object(fields: dict[str, object], answers: Mapping[str, str]) -> Reading:
    keys = [fields[name] for name in _KEY_NAMES if name in fields]
    if len(keys) > 1 and keys[0] != keys[1]:
        raise UnreadableReplyError("the reply's two keys disagree")
    reasons = (fields[name] for name in _REASON_NAMES if isinstance(fields.get(name), str))
    reason = encodable(str(next(reasons, ""))[:_REASON_LIMIT])
    key = keys[0]
    if isinstance(key, list):
        several = cast("list[object]", key)
        if len(several) > 1:
            return Reading(blocker_id=None, reason=reason, flags=(_MULTI_MATCH,))
        key = several[0] if several else None
    if key is None:
        return Reading(blocker_id=None, reason=reason)
    if not isinstance(key, str):
        raise UnreadableReplyError(f"the reply's key is a {type(key).__name__}")
    blocker_id = _blocker_of(key, answers)
    if blocker_id is None and plain_key(key).casefold() not in _NO_MATCH_WORDS:
        return Reading(blocker_id=None, reason=reason, flags=(_INVALID_KEY,))
    return Reading(blocker_id=blocker_id, reason=reason)


def plain_key(text: str) -> str:
    """A key without outer blanks, a code fence, back-ticks or quotes around it."""
    text = text.strip()
    fenced = _FENCED.match(text)
    if fenced is not None:
        text = fenced["inner"].strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "`\"'":
        text = text[1:-1].strip()
    return text


def _blocker_of(key: str, answers: Mapping[str, str]) -> str | None:
    """Exact, then the only one that differs in case alone."""
    if key in answers:
        return answers[key]
    key = plain_key(key)
    if key in answers:
        return answers[key]
    folded = {answers[name] for name in answers if plain_key(name).casefold() == key.casefold()}
    return folded.pop() if len(folded) == 1 else None
