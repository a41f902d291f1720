"""`hil-mcp score`: precision, recall and Ask-F1 of session logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.output import console, print_json, remark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from hil_mcp.judge_quality import JudgeQuality
    from hil_mcp.score_paths import Collected
    from hil_mcp.scoring import AskFigures, SetScore


def score(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Session logs, folders of them, runs, or the release's ask_human_logs.json.",
            show_default=False,
        ),
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="One line a session, as CSV.")] = False,
    upstream: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write the release's ask_human_logs.json there."),
    ] = None,
    skip_bad_lines: Annotated[
        bool, typer.Option(help="Score what is left of a damaged log, and say so.")
    ] = False,
    strict: Annotated[bool, typer.Option(help="End with status 3 on any warning.")] = False,
) -> int:
    """Score session logs: precision, recall and Ask-F1, with everything that was left out."""
    from hil_mcp.judge_quality import known_qualities
    from hil_mcp.score_document import judge_fingerprints, refusal, score_document
    from hil_mcp.score_paths import collect
    from hil_mcp.scoring import score_sets
    from hil_mcp.settings import load_settings

    collected = collect(paths, skip_bad_lines=skip_bad_lines)
    sets = score_sets(collected.sessions)
    known = known_qualities(load_settings().home, judge_fingerprints(collected))
    if upstream is not None:
        from hil_mcp.upstream_export import write_upstream

        remark(f"written: {write_upstream(paths, upstream, skip_bad_lines=skip_bad_lines)}")
    if as_json:
        print_json(score_document(collected, known.by_fingerprint))
    elif as_csv:
        _print_csv(collected)
    elif collected.sessions or collected.missing:
        _print_tables(collected, sets, known.by_fingerprint)
    warnings = [warning for one in collected.sessions for warning in one.warnings]
    for line in (*warnings, *collected.errors, *known.problems):
        remark(line)
    refused = refusal(sets)
    if refused:
        remark(refused)
    is_bad = bool(collected.errors or refused or (strict and (warnings or known.problems)))
    return ExitStatus.DATA if is_bad else ExitStatus.DONE


def _print_tables(
    collected: Collected, sets: tuple[SetScore, ...], qualities: Mapping[str, JudgeQuality]
) -> None:
    from hil_mcp.score_document import headline_figures

    out = console()
    for one in sets:
        out.print(one.conditions.in_words(), markup=False)
        if one.conditions.mode.can_ask and not one.conditions.is_reference_judge:
            out.print("not the reference judge: figures are not comparable with published ones")
        out.print(_table(one, headline_figures(one)))
        fingerprint = one.conditions.judge_fingerprint
        if fingerprint is not None:
            out.print(_quality(qualities.get(fingerprint)), markup=False, soft_wrap=True)
        if one.silent_tasks:
            out.print(f"nobody asked in: {', '.join(one.silent_tasks)}", markup=False)
        _print_invalid(one)
    for title, group in (("missing", collected.missing), ("harness", collected.harness)):
        for entry in group:
            out.print(
                f"{title}: {entry.task_id} {entry.mode} pass {entry.pass_number}: {entry.why}",
                markup=False,
            )
    if not collected.is_run:
        out.print("denominators: these sessions only")


def _table(one: SetScore, headline: AskFigures) -> Table:
    from rich.table import Table

    table = Table(title=None)
    for name in ("", "precision", "recall", "Ask-F1", "questions", "discovered", "blockers"):
        table.add_column(name, justify="left" if not name else "right")
    for session in one.sessions:
        mark = "" if session.is_valid else " (invalid)"
        pass_text = "" if session.pass_number is None else f" pass {session.pass_number}"
        table.add_row(f"{session.task_id}{pass_text}{mark}", *_cells(session.figures))
    if len(one.sessions) > 1:
        table.add_section()
        table.add_row(f"all valid, micro ({one.n_valid}/{len(one.sessions)})", *_cells(headline))
        if one.n_valid < len(one.sessions):
            table.add_row("all, failed judgements counted", *_cells(one.count_all))
        if one.asking_only is not None and one.silent_tasks:
            table.add_row("asking tasks only (as released)", *_cells(one.asking_only))
        table.add_row(
            f"macro: mean of tasks, {one.macro_left_out} left out",
            "",
            "",
            _number(one.macro_ask_f1),
        )
    return table


def _quality(quality: JudgeQuality | None) -> str:
    if quality is None:
        return 'this judge was not measured here: "hil-mcp judge eval PAIRS --store"'
    return f"this judge: {quality.in_words()}"


def _print_invalid(one: SetScore) -> None:
    out = console()
    for session in one.sessions:
        reasons: list[str] = []
        if session.judge_errors:
            reasons.append(f"{session.judge_errors} questions the judge could not answer")
        if session.pending:
            reasons.append(f"{session.pending} questions lost with the server")
        if reasons:
            out.print(f"invalid: {session.task_id}: {', '.join(reasons)}", markup=False)
        if session.is_incomplete:
            out.print(f"incomplete: {session.task_id}: never closed", markup=False)


def _cells(figures: AskFigures) -> tuple[str, ...]:
    return (
        _number(figures.precision),
        _number(figures.recall),
        _number(figures.ask_f1),
        str(figures.n_questions),
        str(figures.n_blockers_discovered),
        str(figures.n_blockers_present),
    )


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _print_csv(collected: Collected) -> None:
    import csv
    import sys

    from hil_mcp.score_document import session_row

    rows = [session_row(one) for one in collected.sessions]
    if rows:
        names = [name for name in rows[0] if name != "outcomes"]
        writer = csv.DictWriter(sys.stdout, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
