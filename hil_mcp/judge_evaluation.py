"""Measure a judge on labelled pairs of imported tasks, and say it in one document."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError
from hil_mcp.judge_setup import judge_config
from judge.build import build_judge
from judge.derived_pairs import SourceTask
from judge.evaluate import FittedJudge, evaluate, judge_of_task
from judge.figures import figures_of
from judge.intervals import to_f1
from judge.lifecycle import close_judge, probe_judge, warm_judge
from judge.pairs import digest_of_pairs
from judge.remembered_embedder import RememberedEmbedder
from task_store.records import SqlEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hil_mcp.settings import Settings
    from judge.embedder import Embedder
    from judge.figures import Figures, KindFigures
    from judge.intervals import Share
    from judge.pairs import Pair
    from judge.verdict import Judge, JudgeFingerprint, RegistryView
    from task_store.records import Task
    from task_store.store import TaskStore

_EMBEDDED_CONCURRENCY = min(os.cpu_count() or 1, 8)
"""Questions that the embedded judge works on at once: it computes, it does not wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What one evaluation was of, and what came out."""

    fingerprint: JudgeFingerprint
    pairs_path: Path
    pairs_digest: str
    """SHA-256 over the pairs as they were asked, human labels included."""
    figures: Figures
    is_out_of_fold: bool
    """Whether each task was judged by a part that was not fitted to it."""


def fresh_judge(
    settings: Settings, embedder: Embedder | None = None, *, concurrency: int | None = None
) -> Judge:
    """The judge that the settings name, to be measured: without a cache of verdicts.

    Args:
        settings: Name the judge.
        embedder: For a judge that embeds; None for one of its own.
        concurrency: Questions that are with a server at the same time; None for the usual.

    Raises:
        JudgeUsageError: No judge can be built from the settings.
    """
    config = replace(judge_config(settings, embedder), cache_path=None)
    if concurrency is not None:
        config = replace(config, concurrency=concurrency)
    return build_judge(settings.judge, config)


async def evaluate_judge(
    settings: Settings,
    pairs: Sequence[Pair],
    pairs_path: Path,
    store: TaskStore,
    *,
    repeat: int,
    on_answer: Callable[[], None],
    concurrency: int | None = None,
) -> Evaluation:
    """Ask the judge every pair.

    Args:
        settings: Name the judge.
        pairs: What to ask.
        pairs_path: Where the pairs stand.
        store: Holds the tasks that the pairs name.
        repeat: Times that each question is asked.
        on_answer: Called after each answer.
        concurrency: Questions that are asked at the same time; None for what suits the judge. The
            time of a question counts from when it is sent, and a server that takes fewer at a time
            lets the others wait.

    Raises:
        ConfigError: The judge is a replay, and a pair hides what stands in the log's registry.
        JudgeSetupError: The judge is not fit for use.
        UnknownTaskError: A pair's task is not in the store.
        PairsError: A pair does not fit its task.
    """

    @cache
    def registry_of(task: str) -> RegistryView:
        return store.get(task).registry

    if settings.judge.startswith("replay:"):
        _check_replayable(pairs)
    # Many pairs have texts in common.
    judge = fresh_judge(settings, RememberedEmbedder(), concurrency=concurrency)
    try:
        await probe_judge(judge)
        await warm_judge(judge)
        judged = await evaluate(
            judge_of_task(judge),
            pairs,
            registry_of,
            repeat=repeat,
            concurrency=concurrency or _usual_concurrency(settings),
            on_answer=on_answer,
        )
        return Evaluation(
            fingerprint=judge.fingerprint,
            pairs_path=pairs_path,
            pairs_digest=digest_of_pairs(pairs),
            figures=figures_of(judged, registry_of),
            is_out_of_fold=isinstance(judge, FittedJudge) and bool(judge.fingerprint.trained_on),
        )
    finally:
        await close_judge(judge)


def source_tasks(tasks: Sequence[Task]) -> tuple[SourceTask, ...]:
    """Tasks as pairs are made from them, grouped by database or repository."""
    return tuple(
        SourceTask(task=task.task_id, group=_group(task), registry=task.registry) for task in tasks
    )


def evaluation_document(evaluation: Evaluation) -> dict[str, object]:
    """The evaluation as JSON values; undefined figures are null."""
    figures = evaluation.figures
    quality = figures.quality
    jaccard = quality.jaccard.interval
    return {
        "judge": {
            **evaluation.fingerprint.as_dict(),
            "fingerprint": evaluation.fingerprint.digest,
        },
        "pairs": str(evaluation.pairs_path),
        "pairs_digest": evaluation.pairs_digest,
        "out_of_fold": evaluation.is_out_of_fold,
        "n": quality.n,
        "failed": figures.failed,
        "failed_answers": figures.failed_answers,
        "precision": quality.precision.value,
        "precision_interval": quality.precision.interval,
        "recall": quality.recall.value,
        "recall_interval": quality.recall.interval,
        "f1": quality.f1,
        "f1_interval": tuple(map(to_f1, jaccard)) if jaccard else None,
        "by_kind": _groups(figures.by_kind),
        "by_type": _groups(figures.by_type),
        "repeats": figures.repeats,
        "flip_rate": _share(figures.flips),
        "latency_ms": {f"p{p}": round(value, 3) for p, value in figures.latency_ms.items()},
        "tokens": figures.tokens,
        "failures": [
            {
                "place": one.place,
                "asking": one.asking,
                "task": one.task,
                "question": one.question,
                "class": one.error_class,
                "cause": one.cause,
            }
            for one in figures.failures
        ],
        "unreached": [
            {"task": one.task, "blocker_id": one.blocker_id, "asked": one.asked}
            for one in figures.unreached
        ],
        "disagreements": [
            {
                "task": one.task,
                "question": one.question,
                "kind": one.kind,
                "expected": one.expected,
                "got": one.got,
                "reason": one.reason,
                "confidence": one.confidence,
                "tags": list(one.tags),
            }
            for one in figures.disagreements
        ],
        "curve": [
            {"threshold": p.threshold, "precision": p.precision, "recall": p.recall}
            for p in figures.curve
        ],
    }


def _check_replayable(pairs: Sequence[Pair]) -> None:
    hiding = sum(pair.hide_example or pair.hide_blocker is not None for pair in pairs)
    if hiding:
        raise ConfigError(
            f"a replayed log cannot be measured on {hiding} of {len(pairs)} pairs, which hide an "
            "example or a blocker: its verdicts are of the whole registry"
        )


def _usual_concurrency(settings: Settings) -> int:
    if settings.judge == "embedded":
        return _EMBEDDED_CONCURRENCY
    return judge_config(settings).concurrency


def _groups(groups: dict[str, KindFigures]) -> dict[str, object]:
    return {
        name: {
            "n": group.n,
            "matched": group.matched,
            "correct": group.correct,
            "share": group.share.value,
            "interval": group.share.interval,
        }
        for name, group in groups.items()
    }


def _share(share: Share | None) -> float | None:
    return None if share is None else share.value


def _group(task: Task) -> str:
    environment = task.environment
    if isinstance(environment, SqlEnvironment):
        return environment.database_name
    return environment.repository
