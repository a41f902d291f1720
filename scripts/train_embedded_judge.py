"""Fit the embedded judge's head and report its figures on tasks that it never saw.

    PYTHONPATH=. python scripts/train_embedded_judge.py PAIRS.jsonl HIL_BENCH_DIR [--out judge/model]

PAIRS.jsonl and HIL_BENCH_DIR are the labelled pairs and the registries they were derived from; the
hand-written items come from `benchmarks/hard_items`. Needs nothing but what hil-mcp itself needs.
Tasks and invented registries are split into five folds; whatever text comes from a held-out task
stays out of the fit, and of the choice of the fold's calibration and threshold, which are taken from
the other folds' scores. The head that ships is fitted to all of them.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import random
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from judge_training_data import (
    Item,
    Registry,
    read_hard_items,
    read_pairs,
    read_tasks,
    training_items,
)
from judge_training_encoder import CachedEncoder
from judge_training_fit import fit_head
from judge_training_scores import (
    Scored,
    calibrate,
    calibration_error,
    choose_threshold,
    describe,
    probabilities,
    report,
    score,
)
from judge_training_words import word_weights

from judge.head import ARRAYS, PIECE_WEIGHTS, Head, description_key

_FOLDS = 5
_SEED = 7
_HARD_ITEMS = Path(__file__).parents[1] / "benchmarks" / "hard_items"
_OWN_KINDS = ("multi_topic", "generic", "injection", "statement")


@dataclass(frozen=True)
class Data:
    """All registries and items, and the fold of each registry."""

    registries: dict[str, Registry]
    drawn: list[Item]
    """For training."""
    evaluated: list[Item]
    folds: dict[str, int]


@dataclass(frozen=True)
class Fitted:
    """One calibrated head and its threshold, with what it says to the items of its fold."""

    head: Head
    threshold: float
    found: list[Scored]


def split(names: list[str], seed: int) -> dict[str, int]:
    """Fold of each name."""
    shuffled = sorted(names)
    random.Random(seed).shuffle(shuffled)
    return {name: index % _FOLDS for index, name in enumerate(shuffled)}


def read(pairs_path: Path, root: Path, encode: CachedEncoder) -> Data:
    """Read everything, draw the training items and split."""
    tasks = read_tasks(root, encode)
    invented, hard = read_hard_items(_HARD_ITEMS, encode)
    pairs = read_pairs(pairs_path, tasks, encode)
    rng = random.Random(_SEED)
    drawn = training_items(tasks, encode, rng) + training_items(invented, encode, rng)
    drawn += [item for item in [*pairs, *hard] if item.kind in _OWN_KINDS or item.hard]
    encode.save()
    folds = {**split(list(tasks), _SEED), **split(list(invented), _SEED)}
    return Data({**tasks, **invented}, drawn, [*pairs, *hard], folds)


def fit_folds(data: Data) -> list[Fitted]:
    """A head for each fold, calibrated and given its threshold without the fold's own items."""
    heads: list[Head] = []
    scored: list[list[Scored]] = []
    for fold in range(_FOLDS):
        seen = [i for i in data.drawn if all(data.folds[source] != fold for source in i.sources)]
        kept = [r for name, r in data.registries.items() if data.folds[name] != fold]
        heads.append(fit_head(seen, word_weights(kept), _SEED + fold))
        scored.append(score(heads[-1], [i for i in data.evaluated if data.folds[i.task] == fold]))
        print(f"fold {fold}: fitted to {len(seen)} items", flush=True)
    return [
        _decided(head, [s for other in range(_FOLDS) if other != fold for s in scored[other]], own)
        for fold, (head, own) in enumerate(zip(heads, scored, strict=True))
    ]


def _decided(head: Head, others: list[Scored], own: list[Scored]) -> Fitted:
    calibrated = replace(head, calibration=calibrate(others))
    return Fitted(calibrated, choose_threshold(others, probabilities(calibrated, others)), own)


def fit_all(data: Data, folds: list[Fitted]) -> Fitted:
    """The head that ships; calibration and threshold come from what the folds' heads said."""
    fitted = fit_head(data.drawn, word_weights(data.registries.values()), _SEED + _FOLDS)
    return replace(_decided(fitted, [s for fold in folds for s in fold.found], []), found=[])


def write_heads(out: Path, fitted: list[Fitted], data: Data) -> None:
    """Write `head.npz` (half precision where it does, no dates in it) and `head.json`."""
    heads = [one.head for one in fitted]
    arrays = {
        f"{name}_{index}": getattr(head, name).astype(
            np.float16 if name == "form_weights" else np.float32
        )
        for index, head in enumerate(heads)
        for name in ARRAYS
    }
    for index, head in enumerate(heads):
        arrays[f"{PIECE_WEIGHTS}_{index}"] = head.words.pieces.astype(np.float16)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    weights = buffer.getvalue()
    (out / "head.npz").write_bytes(weights)
    described: dict[str, object] = {
        "sha256": hashlib.sha256(weights).hexdigest(),
        "thresholds": [one.threshold for one in fitted],
        "trained_on": sorted(data.registries),
        "folds": [sorted(n for n, f in data.folds.items() if f == fold) for fold in range(_FOLDS)],
        "blockers": {
            name: sorted({description_key(blocker.description) for blocker in registry.raw})
            for name, registry in sorted(data.registries.items())
        },
        "words": [{"known": h.words.known, "unseen": h.words.unseen} for h in heads],
        "vocabularies": [list(head.vocabulary) for head in heads],
    }
    lines = (f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in described.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (out / "head.json").write_text(text, encoding="utf-8")
    print(f"wrote {len(weights)} bytes of weights and {len(text)} of description to {out}")


def print_figures(folds: list[Fitted]) -> None:
    """Out-of-fold figures: each fold by its own threshold, then all by one for comparison."""
    found = [s for fold in folds for s in fold.found]
    probability = np.concatenate([probabilities(fold.head, fold.found) for fold in folds])
    own = np.concatenate([np.full(len(fold.found), fold.threshold) for fold in folds])
    print("thresholds of the folds:", *(fold.threshold for fold in folds))
    for title, hard in (("pairs", False), ("hand-written", True)):
        rows = [row for row, s in enumerate(found) if s.item.hard == hard]
        chosen = [found[row] for row in rows]
        report(title, chosen, (probability >= own)[rows])
        print(f"  calibration error {calibration_error(chosen, probability[rows]):.4f}")
        for threshold in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8):
            report(f"{title} at {threshold}", chosen, probability[rows] >= threshold)


def misses(folds: list[Fitted]) -> str:
    """Every item that went wrong, out of fold."""
    return "".join(
        describe(s, float(p), fold.head)
        for fold in folds
        for s, p in zip(fold.found, probabilities(fold.head, fold.found), strict=True)
        if (s.picked if p >= fold.threshold else None) != s.item.expected
    )


def main() -> None:
    """Fit, report, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("root", type=Path)
    parser.add_argument("--out", type=Path, help="folder of head.npz and head.json")
    parser.add_argument("--vectors", type=Path, help="keep embedded texts in this .npz")
    parser.add_argument("--misses", type=Path, help="write what went wrong here")
    args = parser.parse_args()

    data = read(args.pairs, args.root, CachedEncoder(args.vectors))
    folds = fit_folds(data)
    print_figures(folds)
    if args.misses:
        args.misses.write_text(misses(folds), encoding="utf-8")
    if args.out:
        write_heads(args.out, [fit_all(data, folds), *folds], data)


if __name__ == "__main__":
    main()
