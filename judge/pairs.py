"""Labelled pairs of a question and the blocker it asks for: their file, and what a judge is shown.

One JSON object a line: `task`, `question`, `expected` (a blocker id or null), `kind`, and two ways
to keep the answer out of what the judge is shown: `hide_example` takes this question out of every
blocker's examples, `hide_blocker` takes a blocker out of the registry.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from judge.errors import PairsError
from judge.prompt import clean_example

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from judge.verdict import BlockerView, RegistryView


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
    place: str | None = field(default=None, compare=False)
    """File and line that say what is expected, for messages; no part of the pair itself."""

    @property
    def asked(self) -> tuple[str, str]:
        """The task and the question up to its blanks: pairs that have it in common ask the same."""
        return self.task, _single_spaced(self.question)


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

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
    for number, line in enumerate(file_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        pairs.append(_pair(f"{path}: line {number}", line))
    if not pairs:
        raise PairsError(f'{path}: holds no pair: make some with "hil-mcp judge pairs"')
    return tuple(pairs)


def _pair(place: str, line: str) -> Pair:
    try:
        row = _Row.model_validate_json(line)
    except ValidationError as exc:
        # An unknown key first: misspelt, it is the reason why another one is missing.
        first = min(exc.errors(), key=lambda error: error["type"] != "extra_forbidden")
        key = _single_spaced(".".join(map(str, first["loc"]))) or "the line"
        wrong = first["msg"].lower()
        if first["type"] == "extra_forbidden":
            wrong = f"unknown key; a pair has {', '.join(_Row.model_fields)}"
        raise PairsError(f"{place}: {key}: {wrong}") from exc
    if not row.task.strip() or not row.question.strip():
        raise PairsError(f"{place}: task and question must be given")
    if row.expected is not None and row.expected == row.hide_blocker:
        raise PairsError(
            f"{place}: expected and hide_blocker are both {row.expected!r}, so that no judge can "
            "be right: make one of them null"
        )
    return Pair(**row.model_dump(), place=place)


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write a file of pairs, whole or not at all: a failure leaves what stood there before.

    Raises:
        PairsError: The file cannot be written.
    """
    lines = [json.dumps(_values(pair), ensure_ascii=False) + "\n" for pair in pairs]
    data = "".join(lines).encode()
    try:
        if path.exists() and not path.is_file():  # a pipe or a device has no place to take
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data)
    except OSError as exc:
        raise PairsError(f"{path}: cannot be written: {exc.strerror}") from exc


def _replace(path: Path, data: bytes) -> None:
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def digest_of_pairs(pairs: Iterable[Pair]) -> str:
    """SHA-256 over the pairs in order, as 64 hex digits."""
    text = json.dumps([_values(pair) for pair in pairs], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def check_fit(pair: Pair, registry: RegistryView) -> None:
    """Check that the blockers that a pair names are in its task's registry.

    Raises:
        PairsError: One is not.
    """
    ids = {blocker.blocker_id for blocker in registry.blockers}
    for named in (pair.expected, pair.hide_blocker):
        if named is not None and named not in ids:
            raise PairsError(
                f"{_place(pair)}task {pair.task} has no blocker {named!r}: correct it, or make the "
                f'pairs again ("hil-mcp tasks show {pair.task} --reveal" names its blockers)'
            )


def check_pairs(pairs: Iterable[Pair], registry_of: Callable[[str], RegistryView | None]) -> None:
    """Check that pairs name tasks and blockers that there are.

    Args:
        pairs: Labels, derived pairs or both.
        registry_of: A task's registry; None when there is no such task.

    Raises:
        PairsError: A pair names another.
    """
    for pair in pairs:
        registry = registry_of(pair.task)
        if registry is None:
            raise PairsError(
                f"{_place(pair)}unknown task {pair.task!r}: correct it, or import the task "
                '("hil-mcp tasks list" names those that there are)'
            )
        check_fit(pair, registry)


def shown_registry(registry: RegistryView, pair: Pair) -> RegistryView:
    """What a judge is shown for one pair: the registry itself if nothing is hidden."""
    if not pair.hide_example and pair.hide_blocker is None:
        return registry
    hidden = _single_spaced(clean_example(pair.question)) if pair.hide_example else None
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
            example
            for example in blocker.example_questions
            if _single_spaced(clean_example(example)) != hidden
        ),
        type=blocker.type,
    )


def _place(pair: Pair) -> str:
    return f"{pair.place}: " if pair.place else ""


def _single_spaced(question: str) -> str:
    return " ".join(question.split())


def _values(pair: Pair) -> dict[str, object]:
    values = asdict(pair)
    del values["place"]
    return values


def file_text(path: Path) -> str:
    """The text of a file of pairs or labels, its line ends as they are.

    A byte order mark is left out: a spreadsheet puts one before its CSV.

    Raises:
        PairsError: The file cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as exc:
        raise PairsError(f"{path}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        line = exc.object[: exc.start].count(b"\n") + 1
        raise PairsError(f"{path}: line {line}: is not UTF-8: save the file as UTF-8") from exc
