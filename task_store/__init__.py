"""What a task is, where tasks come from, and the SQLite catalogue that keeps them."""

from task_store.errors import (
    ArtefactMismatchError,
    CatalogueError,
    InvalidTaskError,
    MissingArtefactError,
    TaskCollisionError,
    TaskStoreError,
    UnknownTaskError,
)
from task_store.records import (
    Artefact,
    Blocker,
    BlockerCategory,
    BlockerId,
    Registry,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
    TaskId,
    TaskKind,
)
from task_store.store import TaskStore, TaskSummary

__all__ = [
    "Artefact",
    "ArtefactMismatchError",
    "Blocker",
    "BlockerCategory",
    "BlockerId",
    "CatalogueError",
    "InvalidTaskError",
    "MissingArtefactError",
    "Registry",
    "RepositoryEnvironment",
    "RepositoryGold",
    "SqlEnvironment",
    "SqlGold",
    "Task",
    "TaskCollisionError",
    "TaskId",
    "TaskKind",
    "TaskStore",
    "TaskStoreError",
    "TaskSummary",
    "UnknownTaskError",
]
