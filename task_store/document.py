"""A task as one JSON document for the catalogue, without its artefacts, and back.

The artefacts have rows of their own, since fetching changes them and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from task_store.records import (
    Artefact,
    Blocker,
    Registry,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
    TaskKind,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_ARTEFACT_FIELDS = ("database", "descriptions", "image", "tree")


def dump_task(task: Task) -> str:
    """The task as JSON text; equal tasks give equal text."""
    environment = asdict(task.environment)
    for name in _ARTEFACT_FIELDS:
        environment.pop(name, None)
    return json.dumps(
        {
            "task_id": task.task_id,
            "kind": task.kind,
            "statement": task.statement,
            "blockers": [asdict(blocker) for blocker in task.registry.blockers],
            "environment": environment,
            "gold": asdict(task.gold),
            "source": task.source,
            "aliases": task.aliases,
            "released_instructions": dict(task.released_instructions),
            "warnings": task.warnings,
        }
    )


def load_task(text: str, artefacts: Sequence[Artefact]) -> Task:
    """The task that `dump_task` wrote, with these artefacts.

    Args:
        text: What `dump_task` gave.
        artefacts: In the order of `Task.artefacts`.
    """
    values: dict[str, Any] = json.loads(text)
    kind = TaskKind(values["kind"])
    return Task(
        task_id=values["task_id"],
        statement=values["statement"],
        registry=Registry(blockers=tuple(Blocker(**_tuples(b)) for b in values["blockers"])),
        environment=_load_environment(kind, _tuples(values["environment"]), artefacts),
        gold=(SqlGold if kind is TaskKind.SQL else RepositoryGold)(**_tuples(values["gold"])),
        source=values["source"],
        aliases=tuple(values["aliases"]),
        released_instructions=values["released_instructions"],
        warnings=tuple(values["warnings"]),
    )


def _load_environment(
    kind: TaskKind, values: dict[str, Any], artefacts: Sequence[Artefact]
) -> SqlEnvironment | RepositoryEnvironment:
    by_role = {artefact.role: artefact for artefact in artefacts}
    if kind is TaskKind.SQL:
        return SqlEnvironment(
            database=by_role["database"],
            descriptions=tuple(a for a in artefacts if a.role == "description"),
            **values,
        )
    return RepositoryEnvironment(
        image=by_role.get("image"), tree=by_role.get("repository"), **values
    )


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: tuple(cast("list[Any]", value)) if isinstance(value, list) else value
        for key, value in values.items()
    }
