"""`hil-mcp grade`: are the submissions right, by the released check and strictly?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from hil_mcp.cli.exit_status import ExitStatus, status_of, worst
from hil_mcp.cli.output import console, print_json, remark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.grade_paths import GradedLog
    from hil_mcp.grading import Grade

_VERDICTS = {True: "right", False: "wrong", None: "not graded"}


def grade(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Session logs, folders of them, or runs.", show_default=False),
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> int:
    """Grade the last submission of each log against the task that the log names.

    Two verdicts: `compat` is the released check's, `strict` is what is right. Grades are kept in
    grades.jsonl beside the log.
    """
    import anyio

    from hil_mcp.grade_paths import find_logs, grade_log
    from hil_mcp.sandbox.opening import sandbox_config
    from hil_mcp.settings import load_settings
    from task_store.store import TaskStore

    settings = load_settings()
    store, sandboxes = TaskStore(settings.home), sandbox_config(settings)

    async def grade_all() -> list[GradedLog]:
        return [await grade_log(log, store, sandboxes) for log in find_logs(paths)]

    graded = anyio.run(grade_all)
    if as_json:
        print_json(_document(graded))
    else:
        print_grades(graded)
    for one in graded:
        if one.error is not None:
            remark(str(one.error))
    return worst(map(_status, graded))


def _status(graded: GradedLog) -> ExitStatus:
    if graded.error is not None:
        return status_of(graded.error)
    is_graded = graded.grade is not None and graded.grade.strict is not None
    return ExitStatus.DONE if is_graded else ExitStatus.DATA


def _document(graded: Sequence[GradedLog]) -> dict[str, object]:
    return {
        "sessions": [
            {
                "path": str(one.path),
                "task_id": one.task_id,
                "error": None if one.error is None else str(one.error),
                **(_fields(one.grade) if one.grade else {}),
            }
            for one in graded
        ],
        "n": len(graded),
        "n_compat": sum(one.grade is not None and one.grade.compat is True for one in graded),
        "n_strict": sum(one.grade is not None and one.grade.strict is True for one in graded),
        "n_not_graded": sum(one.grade is None or one.grade.strict is None for one in graded),
    }


def _fields(grade: Grade) -> dict[str, object]:
    return grade.model_dump(mode="json")


def print_grades(graded: Sequence[GradedLog]) -> None:
    """A table of verdicts and reasons, and for a single log the rows that differ."""
    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for name in ("task", "compat", "strict", "why"):
        table.add_column(name)
    for one in graded:
        verdicts = (one.grade.compat, one.grade.strict) if one.grade else (None, None)
        reasons = _texts(one.grade, "reasons") if one.grade else [str(one.error)]
        table.add_row(
            escape(one.task_id or str(one.path)),
            *(_VERDICTS[verdict] for verdict in verdicts),
            escape("; ".join(reasons)),
        )
    out = console()
    out.print(table)
    for one in graded:
        if one.grade is not None:
            for note in (*_texts(one.grade, "gold_notes"), *_texts(one.grade, "departures")):
                out.print(f"{one.task_id}: {note}", markup=False)
    if len(graded) == 1 and graded[0].grade is not None:
        for sign, name in (("-", "missing_rows"), ("+", "unexpected_rows")):
            for row in cast("list[list[object]]", graded[0].grade.detail.get(name, [])):
                out.print(f"{sign} {row}", markup=False)


def _texts(grade: Grade, name: str) -> list[str]:
    return cast("list[str]", grade.detail.get(name, []))
