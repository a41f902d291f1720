"""Small tasks for tests."""

from __future__ import annotations

from task_store.records import (
    Artefact,
    Blocker,
    BlockerId,
    Registry,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
    TaskId,
)


def make_blocker(blocker_id: str, resolution: str | None = None) -> Blocker:
    return Blocker(
        blocker_id=BlockerId(blocker_id),
        description=f"Nothing says what {blocker_id} means.",
        resolution=resolution if resolution is not None else f"Answer for {blocker_id}.",
        example_questions=(f"What does {blocker_id} mean?",),
        type="missing parameters",
    )


def make_task(*blocker_ids: str, task_id: str = "boats") -> Task:
    """A SQL task with these blockers; its database is not there."""
    return Task(
        task_id=TaskId(task_id),
        statement="How many boats were slow?",
        registry=Registry(blockers=tuple(make_blocker(name) for name in blocker_ids)),
        environment=SqlEnvironment(
            database_name="harbour",
            database=Artefact(role="database", name="harbour.sqlite"),
        ),
        gold=SqlGold(query="SELECT 1"),
        source="folder",
    )


def make_repository_task(image: str = "hil-mcp-none:1") -> Task:
    """A repository task that lives in an image."""
    return Task(
        task_id=TaskId("pumps"),
        statement="Make the pumps stop.",
        registry=Registry(blockers=(make_blocker("limit"),)),
        environment=RepositoryEnvironment(
            repository="pumps/pumps",
            language="python",
            image=Artefact(role="image", name="pumps.tar.zst", image=image),
        ),
        gold=RepositoryGold(patch=None, fail_to_pass=("t.py::t",)),
        source="folder",
    )
