"""Fit the embedded judge's head and report its figures on tasks that it never saw.

    python scripts/train_embedded_judge.py PAIRS.jsonl HIL_BENCH_DIR [--out judge/model]

PAIRS.jsonl and HIL_BENCH_DIR are the labelled pairs and the registries they were derived from; the
hand-written items come from `benchmarks/hard_items`. Needs nothing but what hil-mcp itself needs.
Tasks and invented registries are split into five folds; whatever text comes from a held-out task
stays out of the fit. The head that ships is fitted to all of them.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from judge_training_data import (
    CachedEncoder,
    Item,
    Registry,
    read_hard_items,
    read_pairs,
    read_tasks,
    training_items,
)
from judge_training_fit import fit_calibration, fit_head

from judge.head import ARRAYS, FORMS, Head

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FOLDS = 5
_SEED = 7
_HARD_ITEMS = Path(__file__).parents[1] / "benchmarks" / "hard_items"
_OWN_KINDS = ("multi_topic", "generic", "injection", "statement")


@dataclass(frozen=True)
class Scored:
    """The best blocker of one item, with its raw score from a head that never saw the item."""

    item: Item
    raw: float
    picked: str
    vetoed: bool

    @property
    def right(self) -> bool:
        return self.picked == self.item.expected


def split(names: list[str], seed: int) -> dict[str, int]:
    """Fold of each name."""
    shuffled = sorted(names)
    random.Random(seed).shuffle(shuffled)
    return {name: index % _FOLDS for index, name in enumerate(shuffled)}


def score(head: Head, items: list[Item]) -> list[Scored]:
    """Each item's best blocker; 0 for a form that is turned away."""
    found: list[Scored] = []
    for item in items:
        raw = head.raw(head.features(item.question, item.blockers))
        best = int(raw.argmax())
        veto = head.veto(item.question) is not None
        found.append(
            Scored(item, 0.0 if veto else float(raw[best]), item.blockers[best].blocker_id, veto)
        )
    return found


def words_of(registries: list[Registry]) -> list[frozenset[str]]:
    """The words of every text of some registries."""
    return [
        words
        for registry in registries
        for b in registry.blockers
        for words in (*b.example_words, b.description_words, b.resolution_words)
    ]


def calibrate(found: list[Scored]) -> NDArray[np.float32]:
    """Calibration over the shared items alone: the hard items are not drawn as questions come."""
    own = [s for s in found if not s.item.hard and not s.vetoed]
    return fit_calibration(np.array([s.raw for s in own]), np.array([s.right for s in own]))


def report(
    title: str, found: list[Scored], probability: NDArray[np.float32], threshold: float
) -> dict[str, object]:
    """Precision, recall and false matches by kind."""
    matched = probability >= threshold
    right = np.array([s.right for s in found]) & matched
    expected = sum(s.item.expected is not None for s in found)
    kinds: dict[str, dict[str, int]] = {}
    for s, m in zip(found, matched, strict=True):
        counts = kinds.setdefault(s.item.kind, {"n": 0, "matched": 0, "correct": 0})
        counts["n"] += 1
        counts["matched"] += int(m)
        counts["correct"] += int(m and s.right) + int(not m and s.item.expected is None)
    figures: dict[str, object] = {
        "n": len(found),
        "precision": float(right.sum() / max(1, matched.sum())),
        "recall": float(right.sum() / max(1, expected)),
        "by_kind": kinds,
    }
    print(f"{title}: precision {figures['precision']:.4f} recall {figures['recall']:.4f}")
    for kind, counts in kinds.items():
        print(f"  {kind:12} {counts}")
    return figures


def calibration_error(found: list[Scored], probability: NDArray[np.float32]) -> float:
    """Mean gap between probability and outcome over ten equal bins, weighted by their sizes."""
    right = np.array([s.right for s in found])
    bins = np.minimum((probability * 10).astype(int), 9)
    return float(
        sum(
            abs(probability[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean()
            for b in range(10)
            if (bins == b).any()
        )
    )


def write_heads(out: Path, heads: list[Head], about: dict[str, object]) -> None:
    """Write `head.npz` (half precision, no dates in it) and `head.json`."""
    buffer = io.BytesIO()
    arrays = {
        f"{name}_{index}": getattr(head, name).astype(
            np.float16 if name == "form_weights" else np.float32
        )
        for index, head in enumerate(heads)
        for name in ARRAYS
    }
    np.savez_compressed(buffer, **arrays)
    data = buffer.getvalue()
    (out / "head.npz").write_bytes(data)
    described = {"sha256": hashlib.sha256(data).hexdigest(), **about}
    lines = (f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in described.items())
    text = "{\n" + ",\n".join(lines) + "\n}"
    (out / "head.json").write_text(text + "\n", encoding="utf-8")
    print(f"wrote {len(data)} bytes of weights and {len(text)} of description to {out}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("root", type=Path)
    parser.add_argument("--out", type=Path, help="folder of head.npz and head.json")
    parser.add_argument("--vectors", type=Path, help="keep text vectors in this .npz between runs")
    parser.add_argument(
        "--threshold", type=float, default=0.75, help="lowest probability of a match"
    )
    parser.add_argument("--misses", type=Path, help="write what went wrong here")
    args = parser.parse_args()

    encode = CachedEncoder(args.vectors)
    tasks = read_tasks(args.root, encode)
    invented, hard = read_hard_items(_HARD_ITEMS, encode)
    pairs = read_pairs(args.pairs, tasks, encode)
    rng = random.Random(_SEED)
    drawn = training_items(tasks, encode, rng) + training_items(invented, encode, rng)
    drawn += [item for item in [*pairs, *hard] if item.kind in _OWN_KINDS or item.hard]
    encode.save()
    registries = {**tasks, **invented}
    folds = {**split(list(tasks), _SEED), **split(list(invented), _SEED)}
    evaluated = [*pairs, *hard]
    heads: list[Head] = []
    found: list[Scored] = []
    for fold in range(_FOLDS):
        seen = [i for i in drawn if all(folds[source] != fold for source in i.sources)]
        kept = [r for name, r in registries.items() if folds[name] != fold]
        heads.append(fit_head(seen, words_of(kept), _SEED + fold))
        found += score(heads[-1], [i for i in evaluated if folds[i.task] == fold])
        print(f"fold {fold}: fitted to {len(seen)} items", flush=True)

    # Each fold's probabilities come from a calibration on the other folds.
    probability = np.zeros(len(found), np.float32)
    of_fold = np.array([folds[s.item.task] for s in found])
    for fold in range(_FOLDS):
        others = calibrate([s for s in found if folds[s.item.task] != fold])
        heads[fold] = replace(heads[fold], calibration=others)
        rows = np.flatnonzero(of_fold == fold)
        probability[rows] = heads[fold].calibrated(np.array([found[r].raw for r in rows]))
    probability[[s.vetoed for s in found]] = 0
    is_hard = np.array([s.item.hard for s in found])
    for title, rows in (("pairs", ~is_hard), ("hand-written", is_hard)):
        chosen = [s for s, r in zip(found, rows, strict=True) if r]
        report(title, chosen, probability[rows], args.threshold)
        error = calibration_error(chosen, probability[rows])
        print(f"  calibration error {error:.4f}")
    for threshold in (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8):
        for title, rows in (("pairs", ~is_hard), ("hand-written", is_hard)):
            matched = (probability >= threshold) & rows
            good = sum(s.right for s, m in zip(found, matched, strict=True) if m)
            total = sum(s.item.expected is not None for s, r in zip(found, rows, strict=True) if r)
            false = Counter(
                s.item.kind for s, m in zip(found, matched, strict=True) if m and not s.right
            )
            print(
                f"  {threshold} {title}: precision {good / matched.sum():.4f} "
                f"recall {good / total:.4f} false {dict(false)}"
            )
    if args.misses:
        wrong = [
            _miss(s, float(p), heads[folds[s.item.task]])
            for s, p in zip(found, probability, strict=True)
            if (s.picked if p >= args.threshold else None) != s.item.expected
        ]
        args.misses.write_text("".join(wrong))
    if args.out:
        shipped = replace(
            fit_head(drawn, words_of(list(registries.values())), _SEED + _FOLDS),
            calibration=calibrate(found),
        )
        write_heads(
            args.out,
            [shipped, *heads],
            {
                "threshold": args.threshold,
                "trained_on": sorted([*tasks, *invented]),
                "folds": [
                    sorted(n for n, f in folds.items() if f == fold) for fold in range(_FOLDS)
                ],
                "words": [
                    {"known": h.words.known, "unseen": h.words.unseen} for h in [shipped, *heads]
                ],
                "vocabularies": [list(head.vocabulary) for head in [shipped, *heads]],
            },
        )


def _miss(scored: Scored, probability: float, head: Head) -> str:
    item = scored.item
    forms = " ".join(f"{f}={p:.2f}" for f, p in zip(FORMS, head.forms(item.question), strict=True))
    origin = "hand-written" if item.hard else "pair"
    return (
        f"{origin} {item.kind} {item.task} expected={item.expected} picked={scored.picked} "
        f"p={probability:.2f} raw={scored.raw:.2f} {forms}\n    {item.question.text}\n"
    )


if __name__ == "__main__":
    main()
