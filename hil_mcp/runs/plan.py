"""What a run is to do: tasks x modes x passes; and what a run taken up again must not change."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hil_mcp.errors import ConfigError
from hil_mcp.run_folder import PlannedAttempt
from hil_mcp.task_documents import modes_of
from task_store.records import TaskKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.modes import Mode
    from hil_mcp.run_folder import RunRecord
    from task_store.records import Task
    from task_store.store import TaskStore

ALL_TASKS = ("all", *(kind.value for kind in TaskKind))
"""Words that stand for tasks; all others are ids."""


def choose_tasks(store: TaskStore, names: Sequence[str]) -> list[Task]:
    """The tasks that are named, each once, in the order of the names.

    Args:
        store: The catalogue.
        names: Ids and aliases, or `all`, `sql` and `repository`.

    Raises:
        UnknownTaskError: There is no such task.
        ConfigError: Nothing was chosen.
    """
    ids: list[str] = []
    for name in names:
        if name in ALL_TASKS:
            ids += [each.task_id for each in store.list() if name in ("all", each.kind.value)]
        else:
            ids.append(name)
    tasks = {task.task_id: task for task in map(store.get, ids)}
    if not tasks:
        raise ConfigError('--tasks: no task: see "hil-mcp tasks list"')
    return list(tasks.values())


def make_plan(
    tasks: Sequence[Task], modes: Sequence[Mode], n_passes: int
) -> tuple[PlannedAttempt, ...]:
    """Every attempt of a run: a pass over all tasks and modes, then the next one.

    A run that ends early has thus seen all tasks alike.

    Raises:
        ConfigError: A mode makes no sense for a task.
    """
    for task in tasks:
        for mode in modes:
            if mode not in modes_of(len(task.registry)):
                raise ConfigError(
                    f"task {task.task_id} has no blocker, so mode {mode} has nothing to ask for: "
                    "leave the task or the mode out"
                )
    return tuple(
        PlannedAttempt(
            task_id=task.task_id,
            task_digest=task.digest,
            mode=mode,
            pass_number=number,
            n_blockers=len(task.registry),
        )
        for number in range(1, n_passes + 1)
        for task in tasks
        for mode in modes
    )


def refuse_other_run(kept: RunRecord, wanted: RunRecord) -> None:
    """Compare what a run was begun with and what it is to be taken up with.

    Raises:
        ConfigError: They differ; names the first difference.
    """
    before = kept.conditions.model_dump(mode="json")
    after = wanted.conditions.model_dump(mode="json")
    for name, value in before.items():
        if value != after[name]:
            shown, asked = _difference(value, after[name])
            raise ConfigError(
                f"this run was begun with {name} {shown}, not {asked}: figures of two conditions "
                "are not put together; choose the same, or another --out"
            )
    if kept.plan != wanted.plan:
        raise ConfigError(
            "this run was begun with another plan (tasks, their versions, modes or passes): "
            "choose the same, or another --out"
        )


def attempt_id(planned: PlannedAttempt, agent: str, try_number: int) -> str:
    """Unique within a run; also the name of the attempt's folder."""
    parts = (planned.task_id, planned.mode, agent, f"p{planned.pass_number}", f"t{try_number}")
    return "-".join(parts)


def _difference(before: object, after: object) -> tuple[object, object]:
    """What differs of two values; of two tables the first entry that does."""
    tables = isinstance(before, dict), isinstance(after, dict)
    if all(tables):
        kept, asked = cast("dict[str, object]", before), cast("dict[str, object]", after)
        for key in sorted({*kept, *asked}):
            if kept.get(key) != asked.get(key):
                return f"{key} = {kept.get(key)}", asked.get(key)
    return before, after
