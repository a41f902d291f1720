"""Plans, and runs that are taken up under other conditions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hil_mcp.errors import ConfigError
from hil_mcp.modes import Mode
from hil_mcp.runs.plan import attempt_id, choose_tasks, make_plan
from task_store.errors import UnknownTaskError
from task_store.records import Registry
from task_store.store import TaskStore
from tests.support.runs import LIMITS, Seen, carry_out, resumed, run_options
from tests.support.scripted_model import Call, Turn, model_endpoint, play
from tests.support.small_client import KEY_VARIABLE, install_small_agent
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

    from hil_mcp.runs.start import RunOptions

SUBMITS = play(Turn(calls=(Call("submit_sql", {"query": "SELECT 1"}),)))


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunOptions:
    monkeypatch.setenv(KEY_VARIABLE, "the-real-key")
    program = install_small_agent(tmp_path)
    return run_options(program, tmp_path / "run", "http://127.0.0.1:9")


def test_a_plan_goes_through_all_tasks_and_modes_before_the_next_pass() -> None:
    tasks = [replace(make_task("x"), task_id=name) for name in ("a", "b")]

    plan = make_plan(tasks, [Mode.BASELINE, Mode.ASK_HUMAN], 2)

    assert [(each.task_id, each.mode, each.pass_number) for each in plan] == [
        (task, mode, number)
        for number in (1, 2)
        for task in ("a", "b")
        for mode in (Mode.BASELINE, Mode.ASK_HUMAN)
    ]
    assert len({attempt_id(each, "codex", 1) for each in plan}) == len(plan)


def test_a_mode_that_makes_no_sense_for_a_task_is_named() -> None:
    task = replace(make_task("x"), registry=Registry(blockers=()))

    with pytest.raises(ConfigError, match="boats has no blocker, so mode ask_human"):
        make_plan([task], [Mode.ASK_HUMAN], 1)


def test_words_stand_for_tasks_and_each_task_is_taken_once(home: Path) -> None:
    store = TaskStore(home)

    everything = choose_tasks(store, ["all"])

    assert len(everything) == 9
    assert choose_tasks(store, ["sql", "repository", "lockers_late"]) != []
    assert {task.task_id for task in choose_tasks(store, ["sql", "repository"])} == {
        task.task_id for task in everything
    }
    with pytest.raises(UnknownTaskError, match="nowhere"):
        choose_tasks(store, ["nowhere"])


async def test_a_run_is_not_taken_up_under_other_conditions(options: RunOptions) -> None:
    with model_endpoint(SUBMITS) as model:
        begun = replace(options, base_url=model.url)
        others = {
            "max_turns = 50, not 7": replace(
                begun, limits=replace(LIMITS, model=replace(LIMITS.model, max_turns=7))
            ),
            "model = scripted, not another": replace(begun, model="another"),
            "another plan": replace(begun, n_passes=3),
        }
        await carry_out(begun)
        watcher = Seen()
        for named, other in others.items():
            with pytest.raises(ConfigError, match=named):
                await carry_out(resumed(other), watcher=watcher)
        with pytest.raises(ConfigError, match="holds a run already: pass --resume"):
            await carry_out(begun, watcher=watcher)

    assert watcher.begun == []


async def test_there_must_be_a_run_to_take_up(options: RunOptions) -> None:
    with pytest.raises(ConfigError, match="there is no run in"):
        await carry_out(resumed(options))
