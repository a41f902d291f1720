"""What `hil-mcp judge` shows to people."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hil_mcp.cli.output import console

if TYPE_CHECKING:
    from rich.table import Table

    from hil_mcp.judge_check import JudgeCheck
    from hil_mcp.judge_evaluation import Evaluation
    from judge.figures import Failure, Figures, KindFigures
    from judge.intervals import Share

_MOST_LISTED = 20
"""Entries of one list on the screen; the JSON document has all."""
_MOST_CAUSES = 5
_CHECKED = (
    *("judge", "fit", "problem", "url", "model", "model_reported", "policy", "prompt_digest"),
    *("fingerprint", "ready_s", "question_ms"),
)
"""Facts of a check that are one value each."""
_QUESTION_WIDTH = 90


def print_check(checked: JudgeCheck) -> None:
    """Print what was found out about a judge, one line a fact."""
    out = console()
    quality = checked.quality
    facts = {name: value for name, value in checked.document().items() if name in _CHECKED}
    facts["measured"] = quality.in_words() if quality else 'not here: "hil-mcp judge eval --store"'
    for name, value in facts.items():
        out.print(f"{name.replace('_', ' '):<16} {_plain(value)}", markup=False, soft_wrap=True)


def print_evaluation(evaluation: Evaluation) -> None:
    """Print the figures of one evaluation."""
    from judge.intervals import to_f1

    out = console()
    figures, fingerprint = evaluation.figures, evaluation.fingerprint
    quality = figures.quality
    out.print(
        f"{fingerprint.backend} {fingerprint.model or ''} ({fingerprint.policy}), "
        f"fingerprint {fingerprint.digest[:12]}"
        f"{', each task judged by a part not fitted to it' if evaluation.is_out_of_fold else ''}",
        markup=False,
    )
    jaccard = quality.jaccard.interval
    interval = f" [{to_f1(jaccard[0]):.3f}, {to_f1(jaccard[1]):.3f}]" if jaccard else ""
    out.print(f"precision {_share(quality.precision)}", markup=False)
    out.print(f"recall    {_share(quality.recall)}", markup=False)
    out.print(f"F1        {_plain(quality.f1)}{interval}", markup=False)
    out.print(_cost(figures), markup=False)
    for line in _causes(figures):
        out.print(line, markup=False, soft_wrap=True)
    out.print(_groups("kind", figures.by_kind))
    if figures.by_type:
        out.print(_groups("blocker type", figures.by_type))
    for one in figures.unreached:
        out.print(f"not reached: {one.task} {one.blocker_id} ({one.asked} questions)", markup=False)
    if figures.disagreements:
        out.print(_disagreements(figures))
    left = len(figures.disagreements) - _MOST_LISTED
    if left > 0:
        out.print(f"and {left} more disagreements: --json lists all", markup=False)


def _cost(figures: Figures) -> str:
    parts = [f"{figures.quality.n} pairs"]
    if figures.failed:
        parts.append(f"{figures.failed} without a verdict (left out)")
    if figures.failed_answers > figures.failed:
        parts.append(f"{figures.failed_answers} failures in all")
    if figures.flips is not None:
        parts.append(f"{figures.repeats} times, flip rate {_share(figures.flips)}")
    parts.extend(f"p{p} {value:.1f} ms" for p, value in figures.latency_ms.items())
    if figures.tokens is not None:
        parts.append(f"{figures.tokens} tokens")
    return ", ".join(parts)


def _causes(figures: Figures) -> list[str]:
    """Why the judge failed, the most frequent cause first, each with the first place it struck."""
    causes: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for one in figures.failures:
        causes[one.error_class, " ".join(one.cause.split())].append(one)
    ordered = sorted(causes.items(), key=lambda item: -len(item[1]))
    lines = [
        f"failures: {len(those)}, first pair {those[0].place}, task {those[0].task}, "
        f"{_short(those[0].question)!r}: {error_class}: {cause}"
        for (error_class, cause), those in ordered[:_MOST_CAUSES]
    ]
    if len(ordered) > _MOST_CAUSES:
        lines.append(f"and {len(ordered) - _MOST_CAUSES} more causes: --json lists every failure")
    return lines


def _short(question: str) -> str:
    shown = " ".join(question.split())
    return shown if len(shown) <= _QUESTION_WIDTH else shown[:_QUESTION_WIDTH] + "…"


def _groups(title: str, groups: dict[str, KindFigures]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title, "pairs", "matched", "correct", "share, 95 %")
    for name, group in groups.items():
        table.add_row(
            escape(name),
            str(group.n),
            str(group.matched),
            str(group.correct),
            escape(_share(group.share)),
        )
    return table


def _disagreements(figures: Figures) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table("task", "kind", "question", "expected", "got", "tags", title="disagreements")
    for one in figures.disagreements[:_MOST_LISTED]:
        table.add_row(
            escape(one.task),
            escape(one.kind),
            escape(_short(one.question)),
            escape(one.expected or "-"),
            escape(one.got or "-"),
            ", ".join(one.tags),
        )
    return table


def _share(share: Share) -> str:
    interval = share.interval
    if share.value is None or interval is None:
        return "undefined"
    return f"{share.value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def _plain(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
