"""Join a task, a judge, a log and the tools into one served session."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import anyio

from hil_mcp.judge_setup import background_judge
from hil_mcp.prompts import prompt_digest
from hil_mcp.revision import git_revision, installed_version
from hil_mcp.sandbox.opening import SandboxConfig, kind_for, sandbox_config
from hil_mcp.serving import bind, serve_http, serve_stdio
from hil_mcp.session import SessionConditions
from hil_mcp.session_opening import open_session
from hil_mcp.tools.toolset import open_tools
from judge.embedder import Embedder
from task_store.records import RepositoryEnvironment
from task_store.store import TaskStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hil_mcp.counting import CountingRules
    from hil_mcp.modes import Mode
    from hil_mcp.settings import Settings
    from task_store.records import Task


def serve_task(
    task: Task,
    mode: Mode,
    settings: Settings,
    *,
    counting_rules: CountingRules,
    log_path: Path | None,
    http: str | None,
    token: str | None,
    remark: Callable[[str], None],
    on_serving: Callable[[str, Path], None],
) -> None:
    """Serve one task until the agent goes or a signal comes.

    Args:
        task: The task.
        mode: What the agent gets.
        settings: Judge and home folder.
        counting_rules: How many answers the task gives.
        log_path: The log, or None for a folder of its own in the home folder.
        http: `HOST:PORT`, or None for stdio.
        token: The bearer token of an HTTP session.
        remark: Called with each line that the operator should see.
        on_serving: Called with the address and the log of an HTTP session once it is served.

    Raises:
        ConfigError: The port is in use, or the log cannot be written.
        DataError: The file at `log_path` is no log that this session could go on with.
        JudgeError: Over HTTP: the judge is unfit.
    """
    embedder = Embedder()  # loads its model at its first use
    judge = background_judge(settings, task.registry, embedder) if mode.can_ask else None
    sandboxes = sandbox_config(settings)
    conditions = SessionConditions(
        mode=mode,
        isolation=_isolation(task, sandboxes),
        prompt_digest=prompt_digest(),
        counting_rules=counting_rules,
        server_version=installed_version(),
        git_revision=git_revision(),
    )
    with ExitStack() as held:
        listener = held.enter_context(bind(http)) if http is not None else None
        opened = open_session(
            task, conditions, judge, log_path=log_path, sessions_dir=settings.home / "sessions"
        )
        for line in opened.remarks:
            remark(line)
        session = opened.session

        async def run() -> None:
            store = TaskStore(settings.home)
            async with open_tools(task, mode, session, store, embedder, sandboxes) as tools:
                if listener is None:
                    await serve_stdio(session, tools, judge)
                    return
                assert token is not None  # noqa: S101  # the command line asks for it
                await serve_http(
                    session,
                    tools,
                    judge,
                    listener=listener,
                    token=token,
                    on_serving=lambda url: on_serving(url, session.log.path),
                )

        anyio.run(run)


def _isolation(task: Task, sandboxes: SandboxConfig) -> str | None:
    """What keeps a repository's commands apart; a SQL task has none of its own."""
    if not isinstance(task.environment, RepositoryEnvironment):
        return None
    return kind_for(task.environment, sandboxes)
