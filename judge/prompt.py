"""Put one question to a judge model: the rules and the registry first, the question last.

All prompts of one task share everything up to the question, so a server that caches prefixes reads
it once. The question goes in as data: one line of JSON in which nothing can close the delimiter,
add a section or spell a control token of a chat template.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from judge.errors import JudgeUsageError
from judge.reply import NO_MATCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from judge.verdict import BlockerView, RegistryView

QUESTION_LIMIT = 2000
"""Characters of a question that the judge reads; the rest is cut and flagged."""
QUESTION_LIMIT_BYTES = 3000
"""Of the same, escaped and as UTF-8. No tokenizer makes more tokens than bytes, so that no question
overflows the context window: an agent must not be able to make its judge fail."""
REASON_LIMIT = 200
"""Characters of a reason that structured output allows."""
RENDERING_VERSION = 1
"""Changes when the text that a placeholder stands for does; part of the prompt digest."""
POLICIES = ("release", "meaning")
PLACEHOLDERS = ("registry", "registry_by_id", "question", "question_raw", "answer_format")
_REGISTRY = ("registry", "registry_by_id")
_QUESTION = ("question", "question_raw")

# `{{name}}` stands for `{name}` itself; every other brace is text.
_TOKEN = re.compile(r"\{\{(?P<literal>[a-z_]+)\}\}|\{(?P<name>[a-z_]+)\}")
_BULLET = re.compile(r"^[\s\-•*]+")
# Beyond what JSON escapes: tags and control tokens, and line ends that are not \n.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\x7f\x85\u2028\u2029\u200b\ufeff"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A prompt with named placeholders."""

    name: str
    """Policy of ours, or `file`."""
    text: str
    digest: str
    """SHA-256 over the text and `RENDERING_VERSION`, as 64 hex digits."""
    wants_json: bool
    """Whether the template states our answer format, so that a server may enforce it."""
    uses_ids: bool
    """Whether the model sees the blockers' ids instead of aliases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question, ready to be sent."""

    text: str
    answers: Mapping[str, str]
    """Blocker id by each answer that is accepted: the aliases and the ids themselves."""
    choices: Sequence[str]
    """What structured output lets the model answer, `none` last."""
    flags: tuple[str, ...]


@cache
def policy_template(policy: str) -> Template:
    """The prompt of a policy of ours.

    Raises:
        JudgeUsageError: There is no such policy.
    """
    if policy not in POLICIES:
        raise JudgeUsageError(f"unknown judge policy {policy!r}: {' or '.join(POLICIES)}")
    text = (files("judge") / "policies" / f"{policy}.txt").read_text(encoding="utf-8")
    return parse_template(text, name=policy, place=policy)


def file_template(path: Path) -> Template:
    """A user's own prompt.

    Raises:
        JudgeUsageError: The file cannot be read, or its placeholders cannot be used.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise JudgeUsageError(f"{path}: cannot be read as a prompt: {exc}") from exc
    return parse_template(text, name="file", place=str(path))


def parse_template(text: str, *, name: str, place: str) -> Template:
    """Check a template.

    Args:
        text: The prompt, with placeholders in braces.
        name: How the fingerprint names it.
        place: How an error names it.

    Raises:
        JudgeUsageError: An unknown placeholder, or none for the registry or the question.
    """
    used = {match["name"] for match in _TOKEN.finditer(text) if match["name"]}
    known = ", ".join(f"{{{placeholder}}}" for placeholder in PLACEHOLDERS)
    for unknown in sorted(used.difference(PLACEHOLDERS)):
        raise JudgeUsageError(
            f"{place}: unknown placeholder {{{unknown}}}: known are {known}; "
            f"write {{{{{unknown}}}}} for the text itself"
        )
    if not used.intersection(_REGISTRY) or not used.intersection(_QUESTION):
        raise JudgeUsageError(f"{place}: the prompt needs {{registry}} and {{question}}")
    digest = hashlib.sha256(f"{RENDERING_VERSION}\n{text}".encode()).hexdigest()
    return Template(
        name=name,
        text=text,
        digest=digest,
        wants_json="answer_format" in used,
        uses_ids="registry_by_id" in used,
    )


def build_prompt(template: Template, question: str, registry: RegistryView) -> Prompt:
    """Fill a template.

    Args:
        template: The prompt.
        question: The agent's text as it came.
        registry: The task's blockers.
    """
    aliases = aliases_of(registry)
    ids = [blocker.blocker_id for blocker in registry.blockers]
    shown = ids if template.uses_ids else list(aliases)
    cut = cut_question(question)
    values = {
        "registry": "\n".join(
            _entry(alias, blocker)
            for alias, blocker in zip(aliases, registry.blockers, strict=True)
        ),
        "registry_by_id": "\n\n".join(_released_entry(blocker) for blocker in registry.blockers),
        "question": as_data(cut),
        "question_raw": _encodable(cut),
        "answer_format": _answer_format(shown),
    }

    def filled(match: re.Match[str]) -> str:
        return values[match["name"]] if match["name"] else f"{{{match['literal']}}}"

    return Prompt(
        # One pass over the template: braces in the data are never looked at.
        text=_TOKEN.sub(filled, template.text),
        answers={**{blocker_id: blocker_id for blocker_id in ids}, **aliases},
        choices=(*shown, NO_MATCH),
        flags=("question_truncated",) if cut != question else (),
    )


def aliases_of(registry: RegistryView) -> dict[str, str]:
    """Blocker id by alias, in order: B1 to Bn, with more Bs where an id looks like an alias."""
    taken = {blocker.blocker_id.strip().casefold() for blocker in registry.blockers}
    prefix = "B"
    while any(f"{prefix}{n}".casefold() in taken for n in range(1, len(registry.blockers) + 1)):
        prefix += "B"
    return {f"{prefix}{n}": b.blocker_id for n, b in enumerate(registry.blockers, start=1)}


def answer_schema(choices: Iterable[str]) -> dict[str, object]:
    """JSON schema of a verdict: the key first, so that a cut reply still began with it."""
    return {
        "type": "object",
        "properties": {
            "blocker_key": {"type": "string", "enum": list(choices)},
            "reason": {"type": "string", "maxLength": REASON_LIMIT},
        },
        "required": ["blocker_key", "reason"],
        "additionalProperties": False,
    }


def as_data(text: str) -> str:
    """A JSON string on one line in which no tag, control token or line end can stand."""
    return json.dumps(_encodable(text), ensure_ascii=False).translate(_ESCAPES)


def cut_question(question: str) -> str:
    """As much of a question, from its beginning, as the judge reads."""
    cut = question[:QUESTION_LIMIT]
    while (excess := len(as_data(cut).encode()) - QUESTION_LIMIT_BYTES) > 0:
        # A character takes six bytes at most, escaped as "\\u0000".
        cut = cut[: len(cut) - max(1, excess // 6)]
    return cut


def clean_example(question: str) -> str:
    """An example question without the list bullet that some sources put before it."""
    return _BULLET.sub("", question).strip()


def _encodable(text: str) -> str:
    # Half a surrogate pair has no UTF-8; it may come in through JSON and must not end in a failure.
    return text.encode("utf-8", "replace").decode("utf-8")


def _entry(alias: str, blocker: BlockerView) -> str:
    examples = [clean_example(example) for example in blocker.example_questions]
    lines = [f"[{alias}] {as_data(blocker.description.strip())}"]
    lines += [f"    asked for example as: {as_data(example)}" for example in examples if example]
    return "\n".join(lines)


def _released_entry(blocker: BlockerView) -> str:
    examples = ", ".join(clean_example(example) for example in blocker.example_questions)
    return _encodable(
        f"BLOCKER: {blocker.blocker_id}\n"
        f"DESCRIPTION: {blocker.description.strip()}\n"
        f"EXAMPLE QUESTIONS: {examples}"
    )


def _answer_format(choices: Sequence[str]) -> str:
    keys = ", ".join(json.dumps(_encodable(choice), ensure_ascii=False) for choice in choices)
    return (
        f'One JSON object and nothing else: {{"blocker_key": KEY, "reason": TEXT}}. '
        f'KEY is one of {keys}, or "{NO_MATCH}" when no blocker is asked for. '
        f"TEXT is one short sentence of at most {REASON_LIMIT} characters."
    )
