"""Writes sessions as the release's `ask_human_logs.json` (docs/release.md, section 4)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hil_mcp.errors import DataError
from hil_mcp.events import Question
from hil_mcp.scoring import score_session
from hil_mcp.session_opening import LOG_NAME
from hil_mcp.session_reader import read_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from hil_mcp.session_reader import SessionRecord


def write_upstream(paths: Iterable[Path], folder: Path, *, skip_bad_lines: bool = False) -> Path:
    """Write one `ask_human_logs.json` for the sessions at the paths, silent ones included.

    The release leaves out instances that never asked; they are written here, with no questions,
    so that nobody's denominators shrink.

    Raises:
        DataError: A log cannot be read.
    """
    entries: dict[str, object] = {}
    for log in _logs(paths):
        record = read_session(log, skip_bad_lines=skip_bad_lines)
        if record.start.mode.can_ask:
            entries[_instance_id(record, entries)] = _entry(record)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ask_human_logs.json"
    path.write_text(json.dumps(entries, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return path


def _logs(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob(LOG_NAME))
        elif path.suffix == ".json":
            raise DataError(f"{path}: already in the release's form: leave it out with --upstream")
        else:
            yield path


def _instance_id(record: SessionRecord, taken: dict[str, object]) -> str:
    start = record.start
    agent = start.agent.name if start.agent else "agent"
    name = f"{start.task_id}__{agent.replace('/', '_').replace(':', '_')}__{start.mode.value}"
    number = start.pass_number or 1
    while f"{name}__pass_{number}" in taken:
        number += 1
    return f"{name}__pass_{number}"


def _entry(record: SessionRecord) -> dict[str, object]:
    questions = record.of(Question)
    discovered = {q.blocker_id for q in questions} - {None}
    figures = score_session(record).figures
    return {
        "questions": [
            {"question": q.question, "response": q.response, "blocker_name": q.blocker_id}
            for q in questions
        ],
        "n_blockers": record.start.n_blockers,
        "blockers": {b.id: b.id in discovered for b in record.start.blockers},
        # 0 where a figure is undefined, as the release writes it.
        "precision": figures.precision or 0.0,
        "recall": figures.recall or 0.0,
        "ask_f1": figures.ask_f1 or 0.0,
    }
