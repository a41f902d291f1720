"""Runs of the small agent against a scripted model, in process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hil_mcp.counting import CountingRules
from hil_mcp.modes import Mode
from hil_mcp.prompts import PromptChoice
from hil_mcp.runs.model_traffic import Limits
from hil_mcp.runs.run_parts import RunLimits
from hil_mcp.runs.runner import Runner
from hil_mcp.runs.start import RunOptions, open_run
from hil_mcp.runs.summary import summarise
from hil_mcp.settings import load_settings
from tests.support.small_client import SMALL_AGENT

if TYPE_CHECKING:
    from hil_mcp.grade_paths import GradedLog
    from hil_mcp.run_folder import AttemptRecord, PlannedAttempt
    from hil_mcp.runs.summary import RunSummary

LIMITS = RunLimits(
    time_limit_s=60,
    idle_limit_s=60,
    model=Limits(max_turns=50, max_requests=100),
    model_timeout_s=30,
)


class Seen:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.begun: list[PlannedAttempt] = []
        self.records: list[AttemptRecord] = []

    def started(self, planned: PlannedAttempt) -> None:
        self.begun.append(planned)

    def ended(
        self, planned: PlannedAttempt, record: AttemptRecord, graded: GradedLog | None
    ) -> None:
        self.records.append(record)


def run_options(program: Path, out: Path, endpoint: str) -> RunOptions:
    """One attempt of `lockers_late` in mode baseline; tests replace what they are about."""
    return RunOptions(
        client=SMALL_AGENT,
        program=program,
        model="scripted",
        base_url=endpoint,
        uses_login=False,
        user_home=Path("/nowhere"),
        tasks=("lockers_late",),
        modes=(Mode.BASELINE,),
        n_passes=1,
        n_workers=1,
        out=out,
        resume=False,
        isolation="none",
        isolation_user=None,
        counting_rules=CountingRules.RELEASE_2,
        prompt=PromptChoice(),
        limits=LIMITS,
    )


async def carry_out(
    options: RunOptions, *, max_tries: int = 1, watcher: Seen | None = None
) -> RunSummary:
    """Make a run, or take it up, and read what is on disk afterwards."""
    settings = load_settings(sandbox="local")
    async with open_run(options, settings) as opened:
        runner = Runner(
            opened.record.plan,
            options.out,
            opened.parts,
            watcher or Seen(),
            max_tries=max_tries,
        )
        await runner.run(n_workers=options.n_workers)
    return summarise(options.out)


def resumed(options: RunOptions) -> RunOptions:
    return replace(options, resume=True)
