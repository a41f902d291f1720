"""Labelled pairs of a question and the blocker it asks for: their file, and what a judge is shown.

One JSON object a line: `task`, `question`, `expected` (a blocker id or null), `kind`, and two ways
to keep the answer out of what the judge is shown: `hide_example` takes this question out of every
blocker's examples, `hide_blocker` takes a blocker out of the registry.
"""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from judge.errors import PairsError
from judge.prompt import clean_example

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from judge.verdict import BlockerView, RegistryView

HUMAN_KIND = "human"
"""Kind of a pair that stands in no derived file, only in one of labels."""
_NO_BLOCKER = {"", "-", "none", "null"}
_LABEL_COLUMNS = ("task", "question", "expected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One labelled question."""

    task: str
    question: str
    expected: str | None
    """Id of the blocker that it asks for, or None."""
    kind: str
    hide_example: bool = False
    hide_blocker: str | None = None


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    task: str
    question: str
    expected: str | None
    kind: str
    hide_example: bool = False
    hide_blocker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBlocker:
    """A blocker as a judge is shown it."""

    blocker_id: str
    description: str
    resolution: str
    example_questions: Sequence[str]
    type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRegistry:
    """A registry with something taken out."""

    blockers: Sequence[ShownBlocker]
    digest: str


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """Read a file of pairs.

    Raises:
        PairsError: The file cannot be read, a line is no pair, or there is none.
    """
    pairs: list[Pair] = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            pairs.append(Pair(**_Row.model_validate_json(line).model_dump()))
        except ValidationError as exc:
            first = exc.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "the line"
            raise PairsError(f"{path}: line {number}: {place}: {first['msg'].lower()}") from exc
    if not pairs:
        raise PairsError(f'{path}: holds no pair: make some with "hil-mcp judge pairs"')
    return tuple(pairs)


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write a file of pairs.

    Raises:
        PairsError: The file cannot be written.
    """
    lines = [json.dumps(asdict(pair), ensure_ascii=False) + "\n" for pair in pairs]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as exc:
        raise PairsError(f"{path}: cannot be written: {exc.strerror}") from exc


def digest_of_pairs(pairs: Iterable[Pair]) -> str:
    """SHA-256 over the pairs in order, as 64 hex digits."""
    text = json.dumps([asdict(pair) for pair in pairs], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_labels(path: Path) -> tuple[Pair, ...]:
    """Read human labels: a CSV file with the columns task, question, expected; others are ignored.

    An empty `expected`, `-` or `none` says that the question asks for no blocker.

    Raises:
        PairsError: The file cannot be read, or a column or a value is missing.
    """
    rows = csv.DictReader(_text(path).splitlines(keepends=True))
    missing = [name for name in _LABEL_COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise PairsError(f"{path}: column {missing[0]} is missing: {','.join(_LABEL_COLUMNS)}")
    labels: list[Pair] = []
    for row in rows:
        task, question, expected = ((row[name] or "").strip() for name in _LABEL_COLUMNS)
        if not task or not question:
            raise PairsError(f"{path}: line {rows.line_num}: task and question must be given")
        labels.append(
            Pair(
                task=task,
                question=question,
                expected=None if expected.lower() in _NO_BLOCKER else expected,
                kind=HUMAN_KIND,
                hide_example=True,
            )
        )
    return tuple(labels)


def with_labels(pairs: Sequence[Pair], labels: Sequence[Pair]) -> tuple[Pair, ...]:
    """Put human labels over derived ones: the same task and question keeps its kind.

    A pair with a hidden blocker keeps its own label: a label speaks of the whole registry.
    """
    said = {(label.task, label.question): label.expected for label in labels}
    known = {(pair.task, pair.question) for pair in pairs if pair.hide_blocker is None}
    relabelled = [
        replace(pair, expected=said[pair.task, pair.question])
        if (pair.task, pair.question) in said and pair.hide_blocker is None
        else pair
        for pair in pairs
    ]
    added = [label for label in labels if (label.task, label.question) not in known]
    return (*relabelled, *added)


def shown_registry(registry: RegistryView, pair: Pair) -> RegistryView:
    """What a judge is shown for one pair: the registry itself if nothing is hidden."""
    if not pair.hide_example and pair.hide_blocker is None:
        return registry
    hidden = clean_example(pair.question) if pair.hide_example else None
    blockers = tuple(
        _shown(blocker, hidden)
        for blocker in registry.blockers
        if pair.hide_blocker is None or blocker.blocker_id != pair.hide_blocker
    )
    text = json.dumps([asdict(blocker) for blocker in blockers])
    return ShownRegistry(blockers=blockers, digest=hashlib.sha256(text.encode()).hexdigest())


def _shown(blocker: BlockerView, hidden: str | None) -> ShownBlocker:
    return ShownBlocker(
        blocker_id=blocker.blocker_id,
        description=blocker.description,
        resolution=blocker.resolution,
        example_questions=tuple(
            example for example in blocker.example_questions if clean_example(example) != hidden
        ),
        type=blocker.type,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise PairsError(f"{path}: cannot be read: {exc}") from exc
