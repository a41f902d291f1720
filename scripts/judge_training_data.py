"""Training and evaluation questions of the embedded judge, each with the registry it is judged on.

`Item` is one question against one state of a registry. Evaluation items are the pairs as given;
training items are drawn from the same registries with examples left out at random: of every blocker
one, the question's own or any, and then as many more as chance has it. Nothing can be learned from
how many examples a blocker shows.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judge.embedded_registry import (
    EmbeddedBlocker,
    EmbeddedQuestion,
    clean_example,
    embed_blockers,
    embed_question,
)

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from judge_training_encoder import CachedEncoder

_JOINS = (" ", " And ", " Also, ", ", and ", " and also, ", "; ")
_SCHEMA_QUESTIONS = (
    "Which columns does the {word} table have?",
    "What columns are there in the table of {word}?",
    "How many rows does the {word} table have?",
    "What is the data type of {word}?",
    "What is the primary key of the {word} table?",
    "Which tests cover {word}?",
    "In which commit was {word} added?",
    "How many lines does the {word} module have?",
)
_SCHEMA_WORD = re.compile(r"[A-Za-z_]{4,}")
_EXAMPLES_KEPT_WHOLE = 0.35
_EXAMPLE_HIDDEN = 0.85


@dataclass(frozen=True)
class RawBlocker:
    """A blocker as the judge's protocol wants it."""

    blocker_id: str
    description: str
    resolution: str
    example_questions: tuple[str, ...]
    type: str | None = None


@dataclass(frozen=True)
class Item:
    """One question against one state of a registry."""

    task: str
    sources: tuple[str, ...]
    """Tasks that the question's text comes from; none of them may be held out when it trains."""
    kind: str
    question: EmbeddedQuestion
    blockers: tuple[EmbeddedBlocker, ...]
    expected: str | None
    hard: bool = False


@dataclass(frozen=True)
class Registry:
    """One task's blockers, raw and embedded, and the group (database or repository) it shares."""

    group: str
    raw: tuple[RawBlocker, ...]
    blockers: tuple[EmbeddedBlocker, ...]


def read_tasks(root: Path, encode: CachedEncoder) -> dict[str, Registry]:
    """Registries of a HiL-Bench checkout, by task."""
    registries: dict[str, Registry] = {}
    for path in sorted(root.glob("harbor_*/*/shared/ask-human-data/blocker_registry.json")):
        task_dir = path.parents[2]
        about = json.loads((task_dir / "shared" / "metadata.json").read_text())
        group = about.get("database_name") or about.get("repo_name_source") or "?"
        raw = json.loads(path.read_text())["blockers"]
        registries[task_dir.name] = _registry(group, raw, encode)
    return registries


def read_hard_items(folder: Path, encode: CachedEncoder) -> tuple[dict[str, Registry], list[Item]]:
    """The hand-written registries and their items."""
    raw = json.loads((folder / "registries.json").read_text())
    registries = {name: _registry(name, blockers, encode) for name, blockers in raw.items()}
    items: list[Item] = []
    for line in (folder / "items.jsonl").read_text().splitlines():
        row = json.loads(line)
        name = row["registry"]
        question = embed_question(row["question"], encode)
        blockers = registries[name].blockers
        items.append(
            Item(name, (name,), row["kind"], question, blockers, row["expected"], hard=True)
        )
    return registries, items


def read_pairs(path: Path, tasks: dict[str, Registry], encode: CachedEncoder) -> list[Item]:
    """The labelled pairs as evaluation items."""
    items: list[Item] = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        registry = tasks[row["task"]]
        blockers = []
        for raw, blocker in zip(registry.raw, registry.blockers, strict=True):
            if raw.blocker_id == row["hide_blocker"]:
                continue
            kept = [
                i
                for i, example in enumerate(raw.example_questions)
                if not (row["hide_example"] and example == row["question"])
            ]
            blockers.append(blocker.keeping(kept))
        question = embed_question(row["question"], encode)
        items.append(
            Item(
                row["task"], (row["task"],), row["kind"], question, tuple(blockers), row["expected"]
            )
        )
    return items


def training_items(
    registries: dict[str, Registry], encode: CachedEncoder, rng: random.Random
) -> list[Item]:
    """Draw training items from registries; each names the tasks that its text comes from."""
    items: list[Item] = []
    for name, registry in registries.items():
        own = [(q, b) for b in registry.raw for q in b.example_questions]
        seen = {q.lower() for q, _ in own}
        for question, blocker in own:
            embedded = embed_question(question, encode)

            for _ in range(2):
                hidden = question if rng.random() < _EXAMPLE_HIDDEN else None
                shown = _thinned(registry, rng, hide=hidden)
                items.append(Item(name, (name,), "paraphrase", embedded, shown, blocker.blocker_id))
            shown = _thinned(registry, rng, without=blocker.blocker_id)
            items.append(Item(name, (name,), "near_miss", embedded, shown, None))
        others = [
            (q, other)
            for other, theirs in registries.items()
            if other != name and theirs.group == registry.group
            for b in theirs.raw
            for q in b.example_questions
            if q.lower() not in seen
        ]
        for question, other in rng.sample(others, min(len(others), 2 * len(own))):
            items.append(
                Item(
                    name,
                    (name, other),
                    "other_task",
                    embed_question(question, encode),
                    _thinned(registry, rng),
                    None,
                )
            )
        items += _misshapen(name, registry, encode, rng)
    return items


def _misshapen(
    name: str, registry: Registry, encode: CachedEncoder, rng: random.Random
) -> list[Item]:
    """Statements, joined questions, and plain ones about what has a word in common with a blocker."""
    texts: list[tuple[str, str]] = []
    for blocker in registry.raw:
        texts.append(("statement", blocker.description))
        texts.append(("statement", blocker.description.split(". ")[0].rstrip(".") + "."))
        if words := _SCHEMA_WORD.findall(" ".join(blocker.example_questions)):
            text = rng.choice(_SCHEMA_QUESTIONS).format(word=rng.choice(words))
            texts.append(("schema", text))
        second = rng.choice([b for b in registry.raw if b is not blocker] or [blocker])
        if second is not blocker and blocker.example_questions and second.example_questions:
            first_text = rng.choice(blocker.example_questions)
            second_text = rng.choice(second.example_questions)
            join = rng.choice(_JOINS)
            if join != " " and not join.startswith(" A"):
                first_text = first_text.rstrip("?")
                second_text = second_text[:1].lower() + second_text[1:]
            texts.append(("multi_topic", first_text + join + second_text))
    return [
        Item(name, (name,), kind, embed_question(text, encode), _thinned(registry, rng), None)
        for kind, text in texts
    ]


def _registry(group: str, raw: list[dict[str, object]], encode: CachedEncoder) -> Registry:
    blockers = tuple(
        RawBlocker(
            str(b["id"]).strip(),
            str(b["description"]).strip(),
            str(b["resolution"]).strip(),
            tuple(q for q in map(clean_example, b.get("example_questions", [])) if q),
        )
        for b in raw
    )
    return Registry(group, blockers, tuple(embed_blockers(blockers, encode)))


def _thinned(
    registry: Registry, rng: random.Random, *, hide: str | None = None, without: str | None = None
) -> tuple[EmbeddedBlocker, ...]:
    """The registry with some examples left out, never `hide` itself, and without one blocker."""
    blockers: list[EmbeddedBlocker] = []
    for raw, blocker in zip(registry.raw, registry.blockers, strict=True):
        if raw.blocker_id == without:
            continue
        shown = list(range(len(raw.example_questions)))
        rng.shuffle(shown)
        kept = [i for i in shown if raw.example_questions[i] != hide]
        if len(kept) == len(shown):
            kept = kept[1:] or kept
        if rng.random() > _EXAMPLES_KEPT_WHOLE:
            kept = kept[: rng.randint(1, max(1, len(kept)))]
        blockers.append(blocker.keeping(kept))
    return tuple(blockers)
