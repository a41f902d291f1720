"""Fits the two heads of the embedded judge with numpy alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from judge.head import FORMS, Head
from judge.question_form import skeleton

if TYPE_CHECKING:
    from judge_training_data import Item

    from judge.pair_features import WordWeights

_MEMBERS = 4
_HIDDEN = 32
_INNER = 4
_WEIGHTS = {"hard": 4.0, "misshapen": 2.0}
_EPOCHS = 40
_BATCH = 512
_PAIR_DECAY = 4e-4
_FORM_STEPS = 250
_FORM_DECAY = {"dense": 2e-3, "embedding": 2e-2, "skeleton": 2e-3}
_LEAST_SKELETON = 3
_HARD_SHARE = 0.5

Array = NDArray[np.float32]


class Adam:
    """Adam with a cosine schedule over `steps` steps, for a list of arrays changed in place."""

    def __init__(self, arrays: list[Array], *, rate: float, steps: int) -> None:
        self._arrays, self._rate, self._steps, self._t = arrays, rate, steps, 0
        self._m = [np.zeros_like(a) for a in arrays]
        self._v = [np.zeros_like(a) for a in arrays]

    def step(self, gradients: list[Array]) -> None:
        self._t += 1
        rate = self._rate * 0.5 * (1 + np.cos(np.pi * min(1.0, self._t / self._steps)))
        for a, g, m, v in zip(self._arrays, gradients, self._m, self._v, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            a -= rate * (m / (1 - 0.9**self._t)) / (np.sqrt(v / (1 - 0.999**self._t)) + 1e-8)


def form_of(kind: str) -> str:
    """The form that a kind of item trains."""
    return kind if kind in FORMS else "question"


def fit_head(items: list[Item], words: WordWeights, seed: int) -> Head:
    """Fit both heads; calibration is left at the identity.

    The pair head learns from what form heads say that never saw the item's task.

    Args:
        items: Training items only.
        words: From the training registries.
        seed: Of the weights' start, of the order of batches and of the inner split.
    """
    rng = np.random.default_rng(seed)
    outline = _form_head(items, words)
    tasks = sorted({item.task for item in items})
    inner = dict(zip(tasks, rng.permutation(len(tasks)) % _INNER, strict=True))
    features: list[Array] = [np.empty(0, np.float32)] * len(items)
    for part in range(_INNER):
        seen = [i for i in items if all(inner.get(s, -1) != part for s in i.sources)]
        head = _form_head(seen, words)
        for row, item in enumerate(items):
            if inner[item.task] == part:
                features[row] = head.features(item.question, item.blockers)
    pair_mean, pair_scale, pair_hidden, pair_output = _fit_pairs(items, features, rng)
    return replace(
        outline,
        pair_mean=pair_mean,
        pair_scale=pair_scale,
        pair_hidden=pair_hidden,
        pair_output=pair_output,
    )


def _form_head(items: list[Item], words: WordWeights) -> Head:
    """A head whose pair part is still empty."""
    vocabulary, form_mean, form_scale, form_weights = _fit_form(items)
    empty = np.zeros(1, np.float32)
    return Head(
        vocabulary=vocabulary,
        form_mean=form_mean,
        form_scale=form_scale,
        form_weights=form_weights,
        words=words,
        pair_mean=empty,
        pair_scale=empty,
        pair_hidden=empty,
        pair_output=empty,
        calibration=np.array([1, 0], np.float32),
    )


def _fit_form(items: list[Item]) -> tuple[dict[str, int], Array, Array, Array]:
    unique = {(i.question.text, form_of(i.kind)): i for i in items}
    chosen = list(unique.values())
    labels = np.array([FORMS.index(form_of(i.kind)) for i in chosen])  # type: ignore[arg-type]
    skeletons = [skeleton(i.question.text) for i in chosen]
    counts = Counter(s for found in skeletons for s in found)
    vocabulary = {
        s: row for row, s in enumerate(sorted(s for s, n in counts.items() if n >= _LEAST_SKELETON))
    }
    form = np.stack([i.question.form for i in chosen])
    mean, scale = form.mean(0), form.std(0) + 1e-3
    known = np.zeros((len(chosen), len(vocabulary)), np.float32)
    for row, found in enumerate(skeletons):
        known[row, [vocabulary[s] for s in found if s in vocabulary]] = 1
    x = np.column_stack(
        [
            np.ones(len(chosen)),
            (form - mean) / scale,
            np.stack([i.question.vector for i in chosen]),
            known,
        ]
    ).astype(np.float32)
    decay = np.concatenate(
        [
            [0.0],
            np.full(form.shape[1], _FORM_DECAY["dense"]),
            np.full(chosen[0].question.vector.size, _FORM_DECAY["embedding"]),
            np.full(len(vocabulary), _FORM_DECAY["skeleton"]),
        ]
    ).astype(np.float32)[:, None]
    target = np.eye(len(FORMS), dtype=np.float32)[labels]
    row_weights = _form_row_weights(chosen, labels)
    weights = np.zeros((x.shape[1], len(FORMS)), np.float32)
    adam = Adam([weights], rate=0.05, steps=_FORM_STEPS)
    for _ in range(_FORM_STEPS):
        logits = x @ weights
        exps = np.exp(logits - logits.max(1, keepdims=True))
        error = (exps / exps.sum(1, keepdims=True) - target) * row_weights
        adam.step([x.T @ error + decay * weights])
    return vocabulary, mean, scale, weights


def _form_row_weights(items: list[Item], labels: NDArray[np.int64]) -> Array:
    """Half the weight on questions, half on the four others; hand-written items get their share."""
    hard = np.array([i.hard for i in items])
    weights = np.zeros(len(items), np.float32)
    for label in range(len(FORMS)):
        total = 0.5 if label == 0 else 0.125
        groups = [(labels == label) & hard, (labels == label) & ~hard]
        shares = (_HARD_SHARE * (0.4 if label == 0 else 1), 1.0)
        shares = (shares[0], 1 - shares[0])
        for group, share in zip(groups, shares, strict=True):
            if group.any():
                weights[group] = total * share / group.sum()
    return (weights / weights.sum())[:, None]


def _fit_pairs(
    items: list[Item], features: list[Array], rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    x = np.concatenate(features)
    w = np.concatenate([np.full(len(i.blockers), _pair_weight(i), np.float32) for i in items])
    w /= w.mean()
    y = np.concatenate([[b.blocker_id == i.expected for b in i.blockers] for i in items])
    y = y.astype(np.float32)
    mean, scale = x.mean(0), x.std(0) + 1e-3
    x = (x - mean) / scale
    hidden, output = [], []
    steps = _EPOCHS * (len(x) // _BATCH + 1)
    for _ in range(_MEMBERS):
        w1 = (rng.standard_normal((x.shape[1] + 1, _HIDDEN)) / np.sqrt(x.shape[1])).astype(
            np.float32
        )
        w2 = (rng.standard_normal(_HIDDEN + 1) / np.sqrt(_HIDDEN)).astype(np.float32)
        adam = Adam([w1, w2], rate=0.004, steps=steps)
        for _ in range(_EPOCHS):
            order = rng.permutation(len(x))
            for start in range(0, len(x), _BATCH):
                rows = order[start : start + _BATCH]
                _pair_step(x[rows], y[rows], w[rows], w1, w2, adam)
        hidden.append(w1)
        output.append(w2)
    return mean, scale, np.stack(hidden), np.stack(output)


def _pair_weight(item: Item) -> float:
    if item.hard:
        return _WEIGHTS["hard"]
    return _WEIGHTS["misshapen"] if item.kind in FORMS else 1.0


def _pair_step(x: Array, y: Array, w: Array, w1: Array, w2: Array, adam: Adam) -> None:
    h = np.tanh(x @ w1[:-1] + w1[-1])
    p = 1 / (1 + np.exp(-(h @ w2[:-1] + w2[-1])))
    error = w * (p - y) / len(y)
    back = np.outer(error, w2[:-1]) * (1 - h * h)
    g1 = np.vstack([x.T @ back, back.sum(0)]).astype(np.float32)
    g2 = np.append(h.T @ error, error.sum()).astype(np.float32)
    g1[:-1] += _PAIR_DECAY * w1[:-1]
    g2[:-1] += _PAIR_DECAY * w2[:-1]
    adam.step([g1, g2])


def fit_calibration(raw: Array, right: NDArray[np.bool_]) -> Array:
    """Slope and intercept on the log odds of `raw` by which they become probabilities."""
    bounded = np.clip(raw.astype(np.float64), 1e-6, 1 - 1e-6)
    x = np.column_stack([np.log(bounded / (1 - bounded)), np.ones(len(raw))])
    w = np.array([1.0, 0.0])
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ w)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(2)
        w -= np.linalg.solve(hessian, x.T @ (p - right) + 1e-6 * w)
    return w.astype(np.float32)
