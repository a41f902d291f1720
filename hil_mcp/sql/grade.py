"""Grades one SQL submission: runs gold and submission under the same guards and compares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import anyio.to_thread

from hil_mcp.grading import Finding
from hil_mcp.sql.compare_compat import CompatVerdict, compare_compat
from hil_mcp.sql.compare_strict import compare_strict
from hil_mcp.sql.explain import explain
from hil_mcp.sql.gold_order import GoldOrder, read_gold_order
from hil_mcp.sql.golden_csv import CANNOT_TELL, as_csv_shows, read_golden_csv
from hil_mcp.sql.outcome import NoResultSet, ResultSet, SqlFailure
from hil_mcp.sql.runner import GRADING_LIMITS, WHOLE_RESULT, SqlRunner

if TYPE_CHECKING:
    from pathlib import Path

    from hil_mcp.sql.outcome import SqlOutcome
    from hil_mcp.sql.runner import SqlLimits
    from task_store.records import SqlGold

GRADER_VERSION = "sql/1"
"""Changes when a verdict may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gold:
    result: ResultSet
    order: GoldOrder
    notes: tuple[str, ...]
    is_from_csv: bool


async def grade_sql(
    gold: SqlGold,
    database_path: Path,
    submission: str | None,
    *,
    limits: SqlLimits = GRADING_LIMITS,
) -> Finding:
    """Grade one submission.

    Args:
        gold: The task's hidden answer.
        database_path: The task's database.
        submission: The query as it was submitted; None when nothing was.
        limits: What each query may cost.

    Returns:
        Verdicts of None when gold or database do not allow one; a submission that fails, takes too
        long or gives too much is wrong, and the detail says so.
    """
    if submission is None:
        return _finding(False, "nothing was submitted")
    async with SqlRunner(database_path, limits) as runner:
        truth = await _gold_result(gold, runner)
        if isinstance(truth, Finding):
            return truth
        given = _submitted_rows(await runner.execute(submission, WHOLE_RESULT))
    if isinstance(given, Finding):
        return given
    # Comparing can take seconds for large results.
    return await anyio.to_thread.run_sync(_compare, truth, given)


async def _gold_result(gold: SqlGold, runner: SqlRunner) -> _Gold | Finding:
    reason = "the task has no gold query"
    if gold.query is not None:
        outcome = await runner.execute(gold.query, WHOLE_RESULT)
        if isinstance(outcome, ResultSet) and not outcome.has_more:
            order = await read_gold_order(gold.query, outcome, runner)
            return _Gold(result=outcome, order=order, notes=order.notes, is_from_csv=False)
        reason = f"the gold query {_why_no_rows(outcome)}"
    golden = read_golden_csv(gold.result_csv) if gold.result_csv is not None else None
    if golden is None:
        return _finding(None, f"{reason}, and there is no golden CSV")
    return _Gold(
        result=golden, order=GoldOrder(), notes=(f"{reason}: {CANNOT_TELL}",), is_from_csv=True
    )


def _submitted_rows(outcome: SqlOutcome) -> ResultSet | Finding:
    if isinstance(outcome, ResultSet) and not outcome.has_more:
        return outcome
    if isinstance(outcome, SqlFailure) and outcome.kind in ("busy", "missing", "crash"):
        return _finding(None, f"the submission could not be run: {outcome.message}")
    return _finding(False, f"the submission {_why_no_rows(outcome)}")


def _why_no_rows(outcome: SqlOutcome) -> str:
    match outcome:
        case SqlFailure(message=message):
            return f"fails: {message}"
        case NoResultSet():
            return "is no query that returns rows"
        case ResultSet():
            return f"gives more than {WHOLE_RESULT.max_rows:,} rows or too much text"
        case _:
            assert_never(outcome)


def _compare(gold: _Gold, submission: ResultSet) -> Finding:
    given = as_csv_shows(submission) if gold.is_from_csv else submission
    compat = compare_compat(gold.result, given)
    strict = compare_strict(gold.result, given, gold.order)
    difference = explain(gold.result, given, strict)
    return Finding(
        compat=compat.is_equal,
        strict=strict.is_equal,
        grader_version=GRADER_VERSION,
        detail={
            "reasons": [*difference.reasons, *_disagreement(compat, strict.is_equal)],
            "missing_rows": [list(row) for row in difference.missing],
            "unexpected_rows": [list(row) for row in difference.unexpected],
            "gold_rows": len(gold.result.rows),
            "submission_rows": len(given.rows),
            "gold_notes": list(gold.notes),
            "departures": list(compat.departures),
        },
    )


def _disagreement(compat: CompatVerdict, is_right: bool) -> list[str]:
    if compat.is_equal == is_right:
        return []
    if compat.is_equal:
        return ["the released check passes it nevertheless"]
    return ["the released check refuses it although it is right"]


def _finding(verdict: bool | None, reason: str) -> Finding:
    return Finding(
        compat=verdict,
        strict=verdict,
        grader_version=GRADER_VERSION,
        detail={"reasons": [reason]},
    )
