"""From paths to scored sessions: logs, folders of logs, runs, and the release's files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hil_mcp.errors import DataError
from hil_mcp.run_folder import plan_state, read_run, refuse_changed_log
from hil_mcp.scoring import (
    AskFigures,
    ScoreConditions,
    SessionScore,
    score_conditions,
    score_session,
)
from hil_mcp.session_opening import LOG_NAME
from hil_mcp.session_reader import read_session
from hil_mcp.upstream_logs import read_upstream_log

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from hil_mcp.run_folder import AttemptRecord, PlannedAttempt, RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """An attempt of a run that is not in the figures, and why."""

    name: str
    task_id: str
    mode: str
    pass_number: int
    n_blockers: int
    why: str


@dataclass(slots=True)
class Collected:
    """What was found at the paths.

    Attributes:
        sessions: The sessions that are scored.
        missing: Planned attempts that have not happened.
        harness: Attempts that failed through no fault of the agent.
        errors: One line for each file that could not be read.
        is_run: Whether the denominators come from a run's plan.
    """

    sessions: list[SessionScore] = field(default_factory=list[SessionScore])
    missing: list[LeftOut] = field(default_factory=list[LeftOut])
    harness: list[LeftOut] = field(default_factory=list[LeftOut])
    errors: list[str] = field(default_factory=list[str])
    is_run: bool = False


def collect(paths: Iterable[Path], *, skip_bad_lines: bool = False) -> Collected:
    """Read everything at the paths; what cannot be read becomes a line in `errors`."""
    found = Collected()
    for path in paths:
        try:
            _collect_one(path, found, skip_bad_lines=skip_bad_lines)
        except DataError as exc:
            found.errors.append(str(exc))
    return found


def _collect_one(path: Path, found: Collected, *, skip_bad_lines: bool) -> None:
    if (path / "run.json").is_file():
        _collect_run(path, found, skip_bad_lines=skip_bad_lines)
    elif path.is_dir():
        logs = sorted(path.rglob(LOG_NAME))
        if not logs:
            raise DataError(f"{path}: no {LOG_NAME} and no run.json in it")
        for log in logs:
            try:
                found.sessions.append(
                    score_session(read_session(log, skip_bad_lines=skip_bad_lines))
                )
            except DataError as exc:
                found.errors.append(str(exc))
    elif path.suffix == ".json":
        found.sessions.extend(read_upstream_log(path))
    else:
        found.sessions.append(score_session(read_session(path, skip_bad_lines=skip_bad_lines)))


def _collect_run(folder: Path, found: Collected, *, skip_bad_lines: bool) -> None:
    run = read_run(folder)
    found.is_run = True
    for state in plan_state(run.plan, folder):
        planned = state.planned
        if state.counted is not None:
            found.sessions.append(
                _score_attempt(*state.counted, planned, run, skip_bad_lines=skip_bad_lines)
            )
        elif state.tries:
            record = state.tries[-1]
            why = f"{record.outcome}: {record.detail}" if record.detail else record.outcome
            found.harness.append(_left_out(record.attempt_id, planned, why))
        else:
            name = f"{planned.task_id} {planned.mode} pass {planned.pass_number}"
            found.missing.append(_left_out(name, planned, "no attempt yet"))


def _score_attempt(
    record: AttemptRecord,
    folder: Path,
    planned: PlannedAttempt,
    run: RunRecord,
    *,
    skip_bad_lines: bool,
) -> SessionScore:
    log = folder / LOG_NAME
    if not log.exists():
        # The agent's doing, so it counts: nothing was asked.
        return SessionScore(
            name=record.attempt_id,
            task_id=planned.task_id,
            pass_number=planned.pass_number,
            conditions=_planned_conditions(planned, run),
            figures=AskFigures(
                n_questions=0,
                n_blockers_discovered=0,
                n_blockers_present=planned.n_blockers,
                is_defined=planned.mode.can_ask,
            ),
            outcomes={},
            is_missing=True,
        )
    session = read_session(log, skip_bad_lines=skip_bad_lines)
    refuse_changed_log(record, session)
    return score_session(session)


def _planned_conditions(planned: PlannedAttempt, run: RunRecord) -> ScoreConditions:
    conditions = run.conditions
    return score_conditions(
        planned.mode,
        counting_rules=conditions.counting_rules,
        judge=conditions.judge if planned.mode.can_ask else None,
        prompt_digest=conditions.prompt_digest,
        isolation=conditions.isolation,
        agent=conditions.agent,
    )


def _left_out(name: str, planned: PlannedAttempt, why: str) -> LeftOut:
    return LeftOut(
        name=name,
        task_id=planned.task_id,
        mode=planned.mode.value,
        pass_number=planned.pass_number,
        n_blockers=planned.n_blockers,
        why=why,
    )
