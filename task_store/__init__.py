"""What a task is, where tasks come from, and the SQLite catalogue that keeps them."""

from task_store.errors import TaskStoreError
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

__all__ = [
    "Artefact",
    "Blocker",
    "BlockerCategory",
    "BlockerId",
    "Registry",
    "RepositoryEnvironment",
    "RepositoryGold",
    "SqlEnvironment",
    "SqlGold",
    "Task",
    "TaskId",
    "TaskKind",
    "TaskStoreError",
]
