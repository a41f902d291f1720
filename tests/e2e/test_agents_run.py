"""`hil-mcp run` with the unmodified agents: every number is the one worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from task_store.store import TaskStore
from tests.support.agent_shell import shell_call
from tests.support.behaviours import MODES, N_PASSES, TASKS, TwelveWays, expected
from tests.support.run_command import KEY, KEYS, KILL_ALL, run_command
from tests.support.scripted_model import Turn, model_endpoint

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.agents


@pytest.mark.parametrize("agent", KEYS)
async def test_two_tasks_in_three_modes_and_two_passes_come_to_the_numbers_worked_out_by_hand(
    agent: str, home: Path, tmp_path: Path
) -> None:
    store = TaskStore(home)
    numbers = expected(len(store.get(TASKS[0]).registry.blockers))
    crash = Turn(calls=(shell_call(agent, KILL_ALL),))
    options = ("--tasks", ",".join(TASKS), "--modes", ",".join(MODES), "--passes", str(N_PASSES))

    with (
        model_endpoint(TwelveWays(store, lambda: crash)) as model,
        run_command(agent, model.url, home, tmp_path / "run", *options) as command,
    ):
        ended = await command.carry_out("--workers", "2")

    assert ended.status == 0, ended.stderr
    assert ended.document["complete"] is True
    assert ended.document["conditions"]["isolation"] == "bubblewrap"
    assert {request.key for request in model.requests} == {KEY}
    blockers = sum(len(store.get(task).registry.blockers) for task in TASKS) * N_PASSES
    for name in MODES:
        mode, wanted = ended.mode(name), numbers[name]
        assert (mode["n_planned"], mode["n_counted"]) == (4, 4)
        assert (mode["outcomes"], mode["flags"]) == (wanted.outcomes, {})
        assert mode["n_resolved"] == wanted.resolved
        figures = (mode["n_questions"], mode["n_blockers_discovered"])
        assert figures == (wanted.q, wanted.d)
        if name.can_ask:
            assert mode["n_blockers_present"] == blockers
            assert mode["precision"] == pytest.approx(wanted.d / wanted.q)
            assert mode["recall"] == pytest.approx(wanted.d / blockers)
            assert mode["ask_f1"] == pytest.approx(2 * wanted.d / (wanted.q + blockers))
