"""What a run came to, by mode, read from its folder: no figure is kept anywhere else.

The denominators come from the plan. An attempt that the harness failed or that was not made is
counted apart and named, never left out in silence; one that the agent failed counts as unresolved.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.events import Submission
from hil_mcp.grading import newest_grade
from hil_mcp.run_folder import plan_state, read_run
from hil_mcp.score_paths import collect
from hil_mcp.scoring import micro
from hil_mcp.session_opening import LOG_NAME
from hil_mcp.session_reader import read_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hil_mcp.modes import Mode
    from hil_mcp.run_folder import AttemptRecord, PassState, RunRecord
    from hil_mcp.score_paths import Collected
    from hil_mcp.scoring import AskFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedAttempt:
    """An attempt that is in the figures: the last valid try of its pass.

    Attributes:
        is_right: By the strict grade; None when it could not be graded.
        is_right_as_released: The same by the released check.
    """

    record: AttemptRecord
    is_right: bool | None
    is_right_as_released: bool | None

    @property
    def is_resolved(self) -> bool:
        """Right, and the agent came to its end by itself."""
        return is_resolved(self.record, is_right=self.is_right)


def is_resolved(record: AttemptRecord, *, is_right: bool | None) -> bool:
    """Whether an attempt solved its task: what runs into a limit does not, right or wrong."""
    return is_right is True and record.outcome == "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeSummary:
    """One line of the table.

    Attributes:
        n_planned: Attempts of the plan; the sum of counted, harness and missing ones.
        counted: Those in the figures.
        n_harness: Those that failed every time through no fault of the agent.
        n_missing: Those not made yet.
        n_ask_sessions: Sessions in `figures`.
        figures: Precision, recall and Ask-F1, micro; undefined in modes without ask_human.
    """

    mode: Mode
    n_planned: int
    counted: tuple[CountedAttempt, ...]
    n_harness: int
    n_missing: int
    n_ask_sessions: int
    figures: AskFigures

    @property
    def n_resolved(self) -> int:
        """Right answers of agents that came to their end."""
        return sum(each.is_resolved for each in self.counted)

    @property
    def resolved_share(self) -> float | None:
        """Of the counted attempts, in [0, 1]; None when there are none."""
        return self.n_resolved / len(self.counted) if self.counted else None

    @property
    def n_not_graded(self) -> int:
        """Counted attempts whose answer could not be graded; they count as unresolved."""
        return sum(each.is_right is None for each in self.counted)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many of the counted attempts ended how."""
        return dict(Counter(each.record.outcome for each in self.counted))

    @property
    def flags(self) -> dict[str, int]:
        """How many of the counted attempts carry which flag."""
        return dict(Counter(flag for each in self.counted for flag in each.record.flags))

    def total(self, name: str) -> float | None:
        """The sum of a figure over the counted attempts that tell it; None when none does."""
        told = [getattr(each.record, name) for each in self.counted]
        known = [value for value in told if value is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """All modes of a run, in the order of the plan, and what is not in their figures."""

    run: RunRecord
    modes: tuple[ModeSummary, ...]
    collected: Collected
    tries: tuple[AttemptRecord, ...]
    """Every attempt that came to an end, the excluded ones too."""
    left_out: tuple[AttemptRecord, ...]
    """The last try of each planned attempt that the harness failed every time."""

    @property
    def is_complete(self) -> bool:
        """Whether every planned attempt is in the figures."""
        return all(len(mode.counted) == mode.n_planned for mode in self.modes)


def summarise(folder: Path) -> RunSummary:
    """Read a run's folder.

    Raises:
        DataError: A record, a log or a grade cannot be read.
    """
    run = read_run(folder)
    states = plan_state(run.plan, folder)
    collected = collect([folder])
    modes = dict.fromkeys(planned.mode for planned in run.plan)
    return RunSummary(
        run=run,
        modes=tuple(
            _mode(mode, [each for each in states if each.planned.mode is mode], collected)
            for mode in modes
        ),
        collected=collected,
        tries=tuple(record for state in states for record in state.tries),
        left_out=tuple(s.tries[-1] for s in states if s.tries and s.counted is None),
    )


def _mode(mode: Mode, states: Sequence[PassState], collected: Collected) -> ModeSummary:
    sessions = [each for each in collected.sessions if each.conditions.mode is mode]
    valid = [each for each in sessions if each.is_valid]
    return ModeSummary(
        mode=mode,
        n_planned=len(states),
        counted=tuple(_counted(*each.counted) for each in states if each.counted),
        n_harness=sum(bool(each.tries) and each.counted is None for each in states),
        n_missing=sum(not each.tries for each in states),
        n_ask_sessions=len(valid),
        figures=micro(valid, is_defined=mode.can_ask),
    )


def _counted(record: AttemptRecord, folder: Path) -> CountedAttempt:
    log = folder / LOG_NAME
    session = read_session(log) if log.exists() else None
    submissions = session.of(Submission) if session else []
    grade = session and newest_grade(
        folder,
        session_id=session.start.session_id,
        submission_digest=submissions[-1].digest if submissions else None,
        task_digest=session.start.task_digest,
    )
    return CountedAttempt(
        record=record,
        is_right=grade.strict if grade else None,
        is_right_as_released=grade.compat if grade else None,
    )
