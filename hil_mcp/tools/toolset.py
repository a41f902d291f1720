"""Which tools a session has: by the task's kind and the mode (design.md, Modes)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError
from hil_mcp.sql.descriptions import TaskSchema
from hil_mcp.sql.rule_index import RuleIndex
from hil_mcp.sql.runner import SqlRunner
from hil_mcp.tools.ask_human import ask_human
from hil_mcp.tools.execute_sql import execute_sql
from hil_mcp.tools.get_business_info import get_business_info
from hil_mcp.tools.get_column_info import get_column_info
from hil_mcp.tools.get_database_info import get_database_info
from hil_mcp.tools.get_table_info import get_table_info
from hil_mcp.tools.submit_sql import submit_sql
from judge.embedder import EMBEDDER_DIGEST
from task_store.records import SqlEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from hil_mcp.modes import Mode
    from hil_mcp.session import Session
    from hil_mcp.tools.tool import Tool
    from judge.embedder import Embedder
    from task_store.records import Task
    from task_store.store import TaskStore


@asynccontextmanager
async def open_tools(
    task: Task, mode: Mode, session: Session, store: TaskStore, embedder: Embedder
) -> AsyncGenerator[tuple[Tool, ...]]:
    """The tools of a session; what they hold open is given back at the end.

    Args:
        task: The task.
        mode: What the agent gets.
        session: Takes questions and submissions.
        store: Where the task's files are.
        embedder: Embeds the business rules; not loaded before they are searched.

    Raises:
        MissingArtefactError: A file that a tool needs has to be fetched first.
        ConfigError: The kind of task cannot be served.
    """
    asking = (ask_human(session),) if mode.can_ask else ()
    match task.environment:
        case SqlEnvironment() as environment:
            opened = _sql_tools(task, environment, mode, session, store, embedder)
        case _:
            raise ConfigError(f"task {task.task_id}: repository tasks cannot be served yet")
    async with opened as tools:
        yield (*asking, *tools)


@asynccontextmanager
async def _sql_tools(
    task: Task,
    environment: SqlEnvironment,
    mode: Mode,
    session: Session,
    store: TaskStore,
    embedder: Embedder,
) -> AsyncGenerator[tuple[Tool, ...]]:
    async def submit(query: str) -> None:
        await session.submit("sql", query)

    database_path = store.artefact_path(environment.database, task_id=task.task_id)
    async with SqlRunner(database_path) as runner:
        submitting = submit_sql(submit, runner)
        if not mode.has_environment:
            yield (submitting,)
            return
        descriptions = {
            artefact.name: store.artefact_path(artefact, task_id=task.task_id)
            for artefact in environment.descriptions
            if not artefact.is_missing
        }
        rules = RuleIndex(
            environment.business_info,
            embedder,
            encoder_digest=EMBEDDER_DIGEST,
            cache_dir=store.catalogue_path.parent / "rule-vectors",
        )
        schema = TaskSchema(environment.database_name, descriptions, runner)
        yield (
            get_database_info(schema),
            get_table_info(schema),
            get_column_info(schema),
            get_business_info(environment.database_name, rules),
            execute_sql(runner),
            submitting,
        )
