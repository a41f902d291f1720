"""What the proofs know beyond the shipped pack: wrong answers and values that must not leak.

One TOML file a task in `guesses/`. It stays beside the tests: the package holds registry and gold
and nothing more that could be read by an agent which gets at it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from task_store.records import SqlEnvironment, Task, TaskKind
from task_store.starter_pack import StarterPack

_GUESSES = Path(__file__).parent / "guesses"

TASKS: dict[str, Task] = {str(task.task_id): task for task in StarterPack().tasks()}
SQL_IDS = [task_id for task_id, task in TASKS.items() if task.kind is TaskKind.SQL]
REPOSITORY_IDS = [task_id for task_id, task in TASKS.items() if task.kind is TaskKind.REPOSITORY]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """One blocker: the part of the answer that depends on it, done right and done wrong."""

    right: str
    naive: str
    """What one does who does not ask."""
    guesses: tuple[str, ...]
    """More wrong answers that somebody may well think of."""
    key_values: tuple[str, ...]
    """Words and numbers that give the answer away; no visible text may have them."""

    @property
    def wrong(self) -> tuple[str, ...]:
        return (self.naive, *self.guesses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The template of one task's answer, with a place for each blocker."""

    template: str
    """SQL: the query. Empty for a repository task, where the solved file is the template."""
    file: str
    """Repository: the file of the solution that holds every `right`. Empty for a SQL task."""
    blockers: dict[str, Sealed]  # by blocker id

    def answer(self, **instead: str) -> str:
        """The template with the right answers, but for the blockers named in `instead`."""
        text = self.template
        for blocker_id, sealed in self.blockers.items():
            place = "{{" + blocker_id + "}}"
            assert place in text, f"the template has no place for {blocker_id}"
            text = text.replace(place, instead.get(blocker_id, sealed.right))
        return text


def proof_of(task_id: str) -> Proof:
    data = tomllib.loads((_GUESSES / f"{task_id}.toml").read_text(encoding="utf-8"))
    return Proof(
        template=data.get("template", ""),
        file=data.get("file", ""),
        blockers={
            blocker_id: Sealed(
                right=fields["right"],
                naive=fields["naive"],
                guesses=tuple(fields["guesses"]),
                key_values=tuple(fields["key_values"]),
            )
            for blocker_id, fields in data["blockers"].items()
        },
    )


def blocker_pairs(task_ids: list[str]) -> list[tuple[str, str]]:
    """Every (task id, blocker id) of these tasks."""
    return [(t, str(b.blocker_id)) for t in task_ids for b in TASKS[t].registry.blockers]


def database_path(task_id: str) -> Path:
    environment = TASKS[task_id].environment
    assert isinstance(environment, SqlEnvironment)
    assert environment.database.source is not None
    return Path(environment.database.source)
