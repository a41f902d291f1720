"""Carries out a plan: several attempts at once, each until it is valid or has been tried enough."""

from __future__ import annotations

import errno
from collections import deque
from typing import TYPE_CHECKING, Protocol

import anyio

from hil_mcp.errors import DataError
from hil_mcp.grade_paths import grade_log
from hil_mcp.run_folder import ATTEMPTS_DIR, attempt_key, plan_state
from hil_mcp.runs.attempt import make_attempt
from hil_mcp.runs.plan import attempt_id
from hil_mcp.session_opening import LOG_NAME
from hil_mcp.task_errors import first_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hil_mcp.grade_paths import GradedLog
    from hil_mcp.run_folder import AttemptKey, AttemptRecord, PlannedAttempt
    from hil_mcp.runs.run_parts import RunParts

GIVE_UP_AFTER = 5
"""Faults of the harness in a row after which no further attempt is begun: a wrong key or a dead
server fails all that are left, and each would cost time and perhaps money."""


class RunWatcher(Protocol):
    """Told of a run as it goes on."""

    def started(self, planned: PlannedAttempt) -> None:
        """An attempt begins."""
        ...

    def ended(
        self, planned: PlannedAttempt, record: AttemptRecord, graded: GradedLog | None
    ) -> None:
        """An attempt has ended, and been graded if it counts."""
        ...


class Runner:
    """One start of one run."""

    def __init__(
        self,
        plan: Sequence[PlannedAttempt],
        folder: Path,
        parts: RunParts,
        watcher: RunWatcher,
        *,
        max_tries: int,
    ) -> None:
        """Prepare what is still to be done.

        Args:
            plan: Of the whole run.
            folder: The run's.
            parts: What the attempts share.
            watcher: Told of each.
            max_tries: How often, in this start, an attempt that failed through no fault of the
                agent is made.

        Raises:
            DataError: An attempt's record of an earlier start cannot be read.
        """
        self._parts = parts
        self._attempts_dir = folder / ATTEMPTS_DIR
        self._watcher = watcher
        self._max_tries = max_tries
        states = plan_state(plan, folder)
        self._kept = [(state.planned, *state.counted) for state in states if state.counted]
        self._left = deque(state.planned for state in states if state.counted is None)
        self._tries: dict[AttemptKey, int] = {}
        self._faults_in_a_row = 0
        self._under_way = 0
        self._changed = anyio.Event()

    @property
    def has_given_up(self) -> bool:
        """Whether too many attempts in a row failed through no fault of the agent."""
        return self._faults_in_a_row >= GIVE_UP_AFTER

    async def run(self, *, n_workers: int) -> None:
        """Make all attempts that are left.

        Args:
            n_workers: Attempts at a time.

        Raises:
            IsolationError: Agents could read what must be kept from them.
            DataError: The run's folder cannot be written.
        """
        try:
            with first_error():
                await self._grade_kept()
                async with anyio.create_task_group() as workers:
                    for _ in range(min(n_workers, len(self._left))):
                        workers.start_soon(self._work)
        except OSError as exc:  # of the run's own folder: whatever else fails has a type of its own
            raise _as_data_error(exc, self._attempts_dir) from exc

    async def _grade_kept(self) -> None:
        """A run that ended between an attempt and its grade is graded now."""
        for planned, record, folder in self._kept:
            self._watcher.ended(planned, record, await self._grade(folder))

    async def _work(self) -> None:
        while True:
            while not self._left and self._under_way and not self.has_given_up:
                await self._changed.wait()  # what is under way may have to be tried again
            if not self._left or self.has_given_up:
                return
            planned = self._left.popleft()
            self._under_way += 1
            try:
                await self._make(planned)
            finally:
                self._under_way -= 1
                self._changed.set()
                self._changed = anyio.Event()

    async def _make(self, planned: PlannedAttempt) -> None:
        key = attempt_key(planned)
        self._tries[key] = self._tries.get(key, 0) + 1
        self._watcher.started(planned)
        try_number = self._next_try(planned)
        record = await make_attempt(self._parts, planned, try_number, self._attempts_dir)
        graded = None
        if record.is_harness_fault:
            self._faults_in_a_row += 1
            if self._tries[key] < self._max_tries:
                self._left.append(planned)
        else:
            self._faults_in_a_row = 0
            graded = await self._grade(self._attempts_dir / record.attempt_id)
        self._watcher.ended(planned, record, graded)

    def _next_try(self, planned: PlannedAttempt) -> int:
        """An attempt that was interrupted left a folder without a record: it is kept as it is."""
        number = 1
        while (self._attempts_dir / attempt_id(planned, self._parts.client.name, number)).exists():
            number += 1
        return number

    async def _grade(self, folder: Path) -> GradedLog | None:
        if not (folder / LOG_NAME).exists():
            return None
        servers = self._parts.servers
        return await grade_log(folder / LOG_NAME, servers.store, servers.sandboxes)


def _as_data_error(error: OSError, place: Path) -> DataError:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = "the disk is full" if is_full else str(error)
    return DataError(
        f"{place}: cannot be written: {why}; when that is mended, the same command with --resume "
        "goes on"
    )
