"""The summary of a run: a table by mode for people, one document for machines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hil_mcp.cli.output import console
from hil_mcp.score_document import figures_document

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Column

    from hil_mcp.runs.summary import CountedAttempt, ModeSummary, RunSummary

_ROWS = (
    *("planned", "counted", "resolved", "share resolved", "precision", "recall", "Ask-F1"),
    *("questions", "turns", "tokens", "cost, USD", "hours"),
)


def run_document(summary: RunSummary, folder: Path) -> dict[str, object]:
    """Everything about a run, for `--json`."""
    collected = summary.collected
    return {
        "run_id": summary.run.run_id,
        "folder": str(folder),
        "complete": summary.is_complete,
        "conditions": summary.run.conditions.model_dump(mode="json"),
        "modes": [_mode(mode) for mode in summary.modes],
        "attempts": [_attempt(each) for mode in summary.modes for each in mode.counted],
        "harness": [
            {**_place(one.task_id, one.mode, one.pass_number), "why": one.why}
            for one in collected.harness
        ],
        "missing": [_place(one.task_id, one.mode, one.pass_number) for one in collected.missing],
        "n_tries": len(summary.tries),
        "n_tries_by_outcome": dict(Counter(each.outcome for each in summary.tries)),
        "errors": collected.errors,
    }


def print_run(summary: RunSummary, folder: Path) -> None:
    """The table, and one line for each thing that is not in its figures."""
    from rich.table import Table

    out = console()
    conditions = summary.run.conditions
    agent = conditions.agent
    shown = [
        " ".join(part for part in (agent.name, agent.version, agent.model) if part),
        f"rules {conditions.counting_rules}",
        f"judge {conditions.judge.backend}",
        f"isolation {conditions.isolation}",
    ]
    out.print(", ".join(shown), markup=False)
    if conditions.isolation == "none":
        out.print("the agent could read the answers: these figures are no measurement")
    # A column a mode: the figures are more than a terminal is wide.
    table = Table("", *(_right_aligned(mode.mode) for mode in summary.modes))
    for row in zip(_ROWS, *(_cells(mode) for mode in summary.modes), strict=True):
        table.add_row(*row)
    out.print(table)
    for mode in summary.modes:
        unresolved = {name: n for name, n in mode.outcomes.items() if name != "finished"}
        for title, counts in (("ended otherwise", unresolved), ("flags", mode.flags)):
            if counts:
                listed = ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
                out.print(f"{mode.mode}: {title}: {listed}", markup=False)
        if mode.n_not_graded:
            out.print(f"{mode.mode}: {mode.n_not_graded} not graded, counted as unresolved")
    for title, group in (
        ("harness", summary.collected.harness),
        ("missing", summary.collected.missing),
    ):
        for one in group:
            out.print(
                f"{title}: {one.task_id} {one.mode} pass {one.pass_number}: {one.why}", markup=False
            )
    out.print(f"run {folder}", markup=False, soft_wrap=True)


def _right_aligned(name: str) -> Column:
    from rich.table import Column

    return Column(name, justify="right")


def _cells(mode: ModeSummary) -> tuple[str, ...]:
    figures = mode.figures
    tokens = [mode.total("input_tokens"), mode.total("output_tokens")]
    hours = mode.total("duration_s")
    return (
        str(mode.n_planned),
        str(len(mode.counted)),
        str(mode.n_resolved),
        _number(mode.resolved_share),
        _number(figures.precision),
        _number(figures.recall),
        _number(figures.ask_f1),
        str(figures.n_questions),
        _number(mode.total("turns"), digits=0),
        _number(None if None in tokens else sum(t for t in tokens if t is not None), digits=0),
        _number(mode.total("cost_usd"), digits=2),
        _number(None if hours is None else hours / 3600, digits=2),
    )


def _number(value: float | None, *, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _mode(mode: ModeSummary) -> dict[str, object]:
    return {
        "mode": mode.mode.value,
        "n_planned": mode.n_planned,
        "n_counted": len(mode.counted),
        "n_resolved": mode.n_resolved,
        "n_resolved_as_released": sum(each.is_right_as_released is True for each in mode.counted),
        "resolved_share": mode.resolved_share,
        "n_not_graded": mode.n_not_graded,
        "n_harness": mode.n_harness,
        "n_missing": mode.n_missing,
        "outcomes": mode.outcomes,
        "flags": mode.flags,
        **figures_document(mode.figures),
        "n_ask_sessions": mode.n_ask_sessions,
        **{
            name: mode.total(name)
            for name in ("turns", "input_tokens", "output_tokens", "cost_usd", "duration_s")
        },
    }


def _place(task_id: str, mode: str, pass_number: int) -> dict[str, object]:
    return {"task_id": task_id, "mode": mode, "pass_number": pass_number}


def _attempt(counted: CountedAttempt) -> dict[str, object]:
    record = counted.record
    return {
        **record.model_dump(mode="json", exclude={"schema_name", "log_head"}),
        "resolved": counted.is_resolved,
        "right": counted.is_right,
        "right_as_released": counted.is_right_as_released,
    }
