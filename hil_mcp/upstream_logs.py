"""Reads what the release writes about questions, and gives its numbers.

`ask_human_logs.json` (the runner's, one entry an instance) and `ask_human_metrics.json` (the
sidecar's, one task); fields in release.md, section 4. A file whose own sums do not agree with its
questions is refused: one of the two is wrong, and nobody can tell which.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hil_mcp.errors import DataError
from hil_mcp.modes import Mode
from hil_mcp.scoring import AskFigures, ScoreConditions, SessionScore
from hil_mcp.session import CANT_ANSWER

if TYPE_CHECKING:
    from pathlib import Path

_TOLERANCE = 5e-4  # the release writes its figures rounded in places


class _UpstreamQuestion(BaseModel):
    model_config = ConfigDict(extra="ignore")

    response: str
    blocker_name: str | None


class _UpstreamEntry(BaseModel):
    """One instance of either file; the sidecar's names stand beside the runner's."""

    model_config = ConfigDict(extra="ignore")

    questions: list[_UpstreamQuestion]
    n_blockers: int
    precision: float | None = None
    recall: float | None = None
    ask_f1: float | None = Field(default=None, validation_alias="ask_f1")
    f1: float | None = None
    total_questions: int | None = None
    blockers_resolved: int | None = None


def read_upstream_log(path: Path) -> list[SessionScore]:
    """Read either of the release's files as scores, one an instance.

    Raises:
        DataError: It cannot be read, or its sums and its questions do not agree.
    """
    try:
        document: object = json.loads(path.read_bytes())
    except (OSError, ValueError) as exc:
        raise DataError(f"{path}: cannot be read as JSON: {exc}") from exc
    if not isinstance(document, dict) or not document:
        raise DataError(
            f"{path}: neither a session log nor the release's ask_human_logs.json or "
            "ask_human_metrics.json"
        )
    entries = cast("dict[str, object]", document)
    if "questions" in entries:
        return [_score(path, path.stem, entries)]
    return [_score(path, name, entry) for name, entry in entries.items()]


def task_and_pass(instance_id: str) -> tuple[str, int]:
    """The task and the pass that an instance id names: `sql_1__model__ask_human__pass_10`."""
    parts = instance_id.split("__")
    last = parts[-1]
    if len(parts) > 1 and last.startswith("pass_") and last.removeprefix("pass_").isdecimal():
        return parts[0], int(last.removeprefix("pass_"))
    return parts[0], 1


def _mode_of(instance_id: str) -> Mode:
    parts = instance_id.split("__")[1:]
    return next((mode for mode in Mode if mode.value in parts), Mode.ASK_HUMAN)


def _score(path: Path, instance_id: str, raw: object) -> SessionScore:
    try:
        entry = _UpstreamEntry.model_validate(raw)
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(str(part) for part in (instance_id, *first["loc"]))
        raise DataError(f"{path}: {place}: {first['msg'].lower()}") from exc
    mode = _mode_of(instance_id)
    figures = AskFigures(
        n_questions=len(entry.questions),
        n_blockers_discovered=len({q.blocker_name for q in entry.questions} - {None}),
        n_blockers_present=entry.n_blockers,
        is_defined=mode.can_ask,
    )
    if mode.can_ask:
        _check_sums(path, instance_id, entry, figures)
    task_id, pass_number = task_and_pass(instance_id)
    judge_errors = sum(q.response.strip() == CANT_ANSWER for q in entry.questions)
    return SessionScore(
        name=f"{path}: {instance_id}",
        task_id=task_id,
        pass_number=pass_number,
        conditions=ScoreConditions(mode=mode),
        figures=figures,
        outcomes={},
        judge_errors=judge_errors,
        n_discovered_delivered=figures.n_blockers_discovered,
        is_valid=judge_errors == 0,
    )


def _check_sums(path: Path, instance_id: str, entry: _UpstreamEntry, figures: AskFigures) -> None:
    # The release writes 0 where a figure of ours is undefined.
    pairs = (
        ("precision", entry.precision, figures.precision or 0.0),
        ("recall", entry.recall, figures.recall or 0.0),
        ("f1", entry.ask_f1 if entry.ask_f1 is not None else entry.f1, figures.ask_f1 or 0.0),
        ("total_questions", entry.total_questions, figures.n_questions),
        ("blockers_resolved", entry.blockers_resolved, figures.n_blockers_discovered),
    )
    for name, stated, counted in pairs:
        if stated is not None and not math.isclose(stated, counted, abs_tol=_TOLERANCE):
            raise DataError(
                f"{path}: {instance_id}: it says {name} {stated:g}, its questions give "
                f"{counted:g}: refused, since one of them is wrong"
            )
