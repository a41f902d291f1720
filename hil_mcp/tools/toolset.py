"""Which tools a session has: by the task's kind and the mode (docs/guide.md, Modes)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from hil_mcp.repository.workbench import Workbench
from hil_mcp.sandbox.opening import SandboxConfig, kind_for, open_sandbox
from hil_mcp.sql.descriptions import TaskSchema
from hil_mcp.sql.rule_index import RuleIndex
from hil_mcp.sql.runner import SqlRunner
from hil_mcp.tools.ask_human import ask_human
from hil_mcp.tools.command_output import command_output
from hil_mcp.tools.edit_file import edit_file
from hil_mcp.tools.execute_sql import execute_sql
from hil_mcp.tools.get_business_info import get_business_info
from hil_mcp.tools.get_column_info import get_column_info
from hil_mcp.tools.get_database_info import get_database_info
from hil_mcp.tools.get_table_info import get_table_info
from hil_mcp.tools.list_files import list_files
from hil_mcp.tools.read_file import read_file
from hil_mcp.tools.run_command import run_command
from hil_mcp.tools.run_tests import run_tests
from hil_mcp.tools.search_code import search_code
from hil_mcp.tools.submit_patch import submit_patch
from hil_mcp.tools.submit_patch_text import submit_patch_text
from hil_mcp.tools.submit_sql import submit_sql
from judge.embedder import EMBEDDER_DIGEST
from task_store.records import RepositoryEnvironment, SqlEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from hil_mcp.modes import Mode
    from hil_mcp.session import Session
    from hil_mcp.tools.tool import Tool
    from judge.embedder import Embedder
    from task_store.records import Task
    from task_store.store import TaskStore


@asynccontextmanager
async def open_tools(
    task: Task,
    mode: Mode,
    session: Session,
    store: TaskStore,
    embedder: Embedder,
    sandboxes: SandboxConfig | None = None,
) -> AsyncGenerator[tuple[Tool, ...]]:
    """The tools of a session; what they hold open is given back at the end.

    Args:
        task: The task.
        mode: What the agent gets.
        session: Takes questions and submissions.
        store: Where the task's files are.
        embedder: Embeds the business rules; not loaded before they are searched.
        sandboxes: How repositories are run; by default as the task needs.

    Raises:
        MissingArtefactError: A file that a tool needs has to be fetched first.
        ConfigError: The sandbox asked for cannot hold the task.
    """
    asking = (ask_human(session),) if mode.can_ask else ()
    match task.environment:
        case SqlEnvironment() as environment:
            opened = _sql_tools(task, environment, mode, session, store, embedder)
        case RepositoryEnvironment() as environment:
            config = sandboxes or SandboxConfig()
            opened = _repository_tools(task, environment, mode, session, store, config)
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


@asynccontextmanager
async def _repository_tools(
    task: Task,
    environment: RepositoryEnvironment,
    mode: Mode,
    session: Session,
    store: TaskStore,
    sandboxes: SandboxConfig,
) -> AsyncGenerator[tuple[Tool, ...]]:
    kind_for(environment, sandboxes)
    path = repository_path(task, environment, store)
    bench = Workbench(
        lambda: open_sandbox(environment, path, sandboxes, session_id=session.session_id)
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.run)
        try:
            if not mode.has_environment:
                yield (submit_patch_text(bench, bench.base, session.submit, close=bench.close),)
            else:
                yield (
                    list_files(bench),
                    read_file(bench),
                    search_code(bench),
                    edit_file(bench),
                    run_command(bench.jobs),
                    command_output(bench.jobs),
                    run_tests(bench.jobs, environment.visible_test_command),
                    submit_patch(
                        bench,
                        bench.base,
                        session.submit,
                        warm_up=bench.start,
                        close=bench.close,
                    ),
                )
        finally:
            await bench.close()


def repository_path(
    task: Task, environment: RepositoryEnvironment, store: TaskStore
) -> Path | None:
    """The source tree of a task, or its image's archive; None when only Docker may have it.

    Raises:
        MissingArtefactError: The source tree has to be fetched first.
    """
    image = environment.image
    if image is None:
        assert environment.tree is not None  # noqa: S101  # the importers refuse a task without both
        return store.artefact_path(environment.tree, task_id=task.task_id)
    return None if image.is_missing else store.artefact_path(image, task_id=task.task_id)
