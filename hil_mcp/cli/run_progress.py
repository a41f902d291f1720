"""How a run goes on, on stderr: live on a terminal, a line an attempt elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hil_mcp.cli.output import remark
from hil_mcp.run_folder import attempt_key
from hil_mcp.runs.summary import is_resolved

if TYPE_CHECKING:
    from collections.abc import Generator

    from hil_mcp.grade_paths import GradedLog
    from hil_mcp.run_folder import AttemptKey, AttemptRecord, PlannedAttempt
    from hil_mcp.runs.runner import RunWatcher


class _Counts:
    """What has happened so far."""

    def __init__(self, n_planned: int) -> None:
        self.n_planned = n_planned
        self.n_done = self.n_running = self.n_resolved = self.n_asks = self.n_faults = 0
        self.cost_usd: float | None = None
        self._began = time.monotonic()
        self._n_made = 0

    def started(self) -> None:
        self.n_running += 1

    def ended(self, record: AttemptRecord, graded: GradedLog | None, *, was_running: bool) -> None:
        self.n_running -= was_running
        self._n_made += was_running
        if record.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + record.cost_usd
        if record.is_harness_fault:
            self.n_faults += 1
            return
        self.n_done += 1
        self.n_asks += record.n_questions or 0
        grade = graded.grade if graded else None
        self.n_resolved += is_resolved(record, is_right=grade.strict if grade else None)

    def in_words(self) -> str:
        parts = [
            f"{self.n_done}/{self.n_planned} done",
            f"{self.n_running} running",
            f"{self.n_resolved} resolved",
            f"{self.n_asks} questions",
        ]
        if self.n_faults:
            parts.append(f"{self.n_faults} failed by the harness")
        if self.cost_usd is not None:
            parts.append(f"{self.cost_usd:.2f} USD")
        left = self._left_s()
        if left is not None:
            parts.append(f"{_duration(left)} left")
        return ", ".join(parts)

    def _left_s(self) -> float | None:
        if not self._n_made:
            return None
        each = (time.monotonic() - self._began) / self._n_made
        return each * (self.n_planned - self.n_done)


class _Watcher:
    """Counts, and shows the counts and each attempt's end."""

    def __init__(self, n_planned: int) -> None:
        self.counts = _Counts(n_planned)
        self._running: set[AttemptKey] = set()

    def started(self, planned: PlannedAttempt) -> None:
        self._running.add(attempt_key(planned))
        self.counts.started()
        self.show()

    def ended(
        self, planned: PlannedAttempt, record: AttemptRecord, graded: GradedLog | None
    ) -> None:
        was_running = attempt_key(planned) in self._running
        self._running.discard(attempt_key(planned))
        self.counts.ended(record, graded, was_running=was_running)
        if was_running:
            self.tell(_line(record, graded))
        self.show()

    def tell(self, line: str) -> None:
        remark(f"{line}  [{self.counts.in_words()}]")

    def show(self) -> None:
        """Show the counts, where they can be renewed."""


class _LiveWatcher(_Watcher):
    """The same on a terminal: the counts stay on the last line."""

    def __init__(self, n_planned: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        super().__init__(n_planned)
        self.progress = Progress(
            BarColumn(bar_width=20),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(file=sys.stderr, highlight=False),
        )
        self._task = self.progress.add_task(self.counts.in_words(), total=n_planned)

    def tell(self, line: str) -> None:
        self.progress.console.print(line, markup=False)

    def show(self) -> None:
        self.progress.update(
            self._task, completed=self.counts.n_done, description=self.counts.in_words()
        )


@contextmanager
def watching(n_planned: int) -> Generator[RunWatcher]:
    """A watcher for the time of a run."""
    if not sys.stderr.isatty():
        yield _Watcher(n_planned)
        return
    live = _LiveWatcher(n_planned)
    with live.progress:
        yield live


def _line(record: AttemptRecord, graded: GradedLog | None) -> str:
    parts = [record.attempt_id, record.outcome.replace("_", " ")]
    if graded is not None and graded.grade is not None:
        parts.append({True: "right", False: "wrong", None: "not graded"}[graded.grade.strict])
    elif graded is not None and graded.error is not None:
        parts.append(f"not graded: {graded.error}")
    if record.detail:
        parts.append(record.detail.strip().split("\n")[0][:200])
    return ": ".join(parts)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes // 60} h {minutes % 60:02} min"
