"""Begin a run or take one up: everything that is checked and built before the first attempt."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError
from hil_mcp.events import AgentInfo
from hil_mcp.judge_setup import judge_config
from hil_mcp.prompts import prompt_digest
from hil_mcp.revision import git_revision, installed_version
from hil_mcp.run_folder import RUN_FILE, RunConditions, RunRecord, read_run, write_record
from hil_mcp.runs.agent_program import agent_program, agent_version
from hil_mcp.runs.isolation import IsolationConfig
from hil_mcp.runs.model_access import access_by_key, access_by_login
from hil_mcp.runs.model_proxy import model_client
from hil_mcp.runs.plan import choose_tasks, make_plan, refuse_other_run
from hil_mcp.runs.programs import needed_folders
from hil_mcp.runs.protected import protected_paths
from hil_mcp.runs.run_parts import RunParts
from hil_mcp.runs.session_endpoint import ServerParts
from hil_mcp.sandbox.opening import sandbox_config
from hil_mcp.session import judge_info
from judge.build import build_judge
from judge.embedder import Embedder
from judge.lifecycle import close_judge, prepare_judge
from task_store.store import TaskStore

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from clients.client import Client
    from hil_mcp.counting import CountingRules
    from hil_mcp.modes import Mode
    from hil_mcp.prompts import PromptChoice
    from hil_mcp.run_folder import PlannedAttempt
    from hil_mcp.runs.cell import IsolationKind
    from hil_mcp.runs.model_access import ModelAccess
    from hil_mcp.runs.run_parts import RunLimits
    from hil_mcp.settings import Settings

_CONNECTIONS_PER_AGENT = 8
_NOWHERE = "http://127.0.0.1"
_OPEN_DIR = "/var/tmp"  # noqa: S108  # a folder of an unguessable name is made in it


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the user asked for.

    Attributes:
        program: The agent's program; None looks for it on PATH.
        base_url: Another endpoint than the vendor's.
        uses_login: The agent reaches its model by itself, with the login files of the user's home.
        isolation: Kind, and the user for `user`.
        resume: The run in `out` is taken up; without it `out` must hold none.
    """

    client: Client
    program: Path | None
    model: str | None
    base_url: str | None
    uses_login: bool
    user_home: Path
    tasks: tuple[str, ...]
    modes: tuple[Mode, ...]
    n_passes: int
    n_workers: int
    out: Path
    resume: bool
    isolation: IsolationKind
    isolation_user: str | None
    counting_rules: CountingRules
    prompt: PromptChoice
    limits: RunLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """A run whose record is on disk and whose attempts can be made."""

    record: RunRecord
    parts: RunParts


@asynccontextmanager
async def open_run(options: RunOptions, settings: Settings) -> AsyncGenerator[OpenedRun]:
    """Check everything, write or compare `run.json`, and hold what the attempts share.

    Raises:
        ConfigError: Options that do not fit, or a run that was begun under other conditions.
        ClientError: The agent's program is not there or does not start.
        JudgeError: The judge is not fit.
        TaskStoreError: A task is not there.
    """
    _refuse_shared_user(options)
    access = _access(options)
    program = agent_program(options.client, options.program)
    kept = _kept(options)
    store, embedder = TaskStore(settings.home), Embedder()
    tasks = choose_tasks(store, options.tasks)
    plan = make_plan(tasks, options.modes, options.n_passes)
    isolation = IsolationConfig(
        kind=options.isolation,
        user=options.isolation_user,
        protected=protected_paths(home=settings.home, run_dir=options.out),
        programs=needed_folders(program),
    )
    judge = build_judge(settings.judge, judge_config(settings, embedder))
    try:
        if any(mode.can_ask for mode in options.modes):
            await prepare_judge(judge, tasks[0].registry)
        conditions = RunConditions(
            judge=judge_info(judge.fingerprint),
            counting_rules=options.counting_rules,
            prompt_digest=prompt_digest(options.prompt),
            isolation=isolation.name,
            agent=AgentInfo(
                name=options.client.name,
                version=await agent_version(options.client, program),
                model=options.model,
            ),
            agent_settings=_settings(options, settings, access),
        )
        record = _write_or_compare(options, kept, conditions, plan)
        servers = ServerParts(
            store=store, judge=judge, embedder=embedder, sandboxes=sandbox_config(settings)
        )
        async with _open_parts(
            options, settings, record, servers, access, isolation, program
        ) as parts:
            yield OpenedRun(record=record, parts=parts)
    finally:
        await close_judge(judge)


@asynccontextmanager
async def _open_parts(
    options: RunOptions,
    settings: Settings,
    record: RunRecord,
    servers: ServerParts,
    access: ModelAccess,
    isolation: IsolationConfig,
    program: Path,
) -> AsyncGenerator[RunParts]:
    # A model may be asked by an agent's main turn and by its asides at the same time.
    connections = options.n_workers * _CONNECTIONS_PER_AGENT
    http = model_client(access.endpoint or _NOWHERE, connections=connections)
    with _cells_dir(options, settings) as cells_dir:
        async with http:
            yield RunParts(
                run_id=record.run_id,
                client=options.client,
                program=program,
                access=access,
                isolation=isolation,
                limits=options.limits,
                prompt=options.prompt,
                conditions=record.conditions,
                servers=servers,
                cells_dir=cells_dir,
                http=http,
                server_version=installed_version(),
                git_revision=git_revision(),
            )


def _write_or_compare(
    options: RunOptions,
    kept: RunRecord | None,
    conditions: RunConditions,
    plan: tuple[PlannedAttempt, ...],
) -> RunRecord:
    """The run's record: written once, compared ever after."""
    run_id = kept.run_id if kept else _new_run_id()
    record = RunRecord(run_id=run_id, conditions=conditions, plan=plan)
    if kept is None:
        write_record(options.out, record)
    else:
        refuse_other_run(kept, record)
    return record


def _kept(options: RunOptions) -> RunRecord | None:
    """The record of the run in the folder, when it is to be taken up."""
    if not (options.out / RUN_FILE).exists():
        if options.resume:
            raise ConfigError(f"--resume: there is no run in {options.out}")
        return None
    if not options.resume:
        raise ConfigError(
            f"{options.out} holds a run already: pass --resume to go on with it, or another --out"
        )
    return read_run(options.out)


def _refuse_shared_user(options: RunOptions) -> None:
    if options.isolation == "user" and options.n_workers > 1:
        raise ConfigError(
            "--workers: attempts that run at the same time as one user can read each other's "
            "files: one worker, or --isolation bubblewrap"
        )


def _access(options: RunOptions) -> ModelAccess:
    if not options.uses_login:
        return access_by_key(options.client, model=options.model, base_url=options.base_url)
    if options.isolation != "none":
        raise ConfigError(
            "--login needs the open network and the files of your home folder, which isolation "
            f"{options.isolation} does not give: use a key, or --isolation none, which marks the "
            "run"
        )
    return access_by_login(options.client, model=options.model, user_home=options.user_home)


@contextmanager
def _cells_dir(options: RunOptions, settings: Settings) -> Generator[Path]:
    """Where the agents' folders are made; another user cannot reach any in `HIL_MCP_HOME`."""
    if options.isolation != "user":
        yield settings.home.absolute() / "cells"
        return
    # Not the usual folder for temporary files: one agent refuses to keep its programs there.
    with TemporaryDirectory(prefix="hil-mcp-", dir=_OPEN_DIR) as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def _new_run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def _settings(options: RunOptions, settings: Settings, access: ModelAccess) -> dict[str, object]:
    limits, prompt = options.limits, options.prompt
    words = prompt.instructions
    return {
        "model_endpoint": access.endpoint or "the agent's own",
        "time_limit_s": limits.time_limit_s,
        "idle_limit_s": limits.idle_limit_s,
        **asdict(limits.model),
        "prompt": prompt.style.value,
        "instructions_digest": words and hashlib.sha256(words.encode()).hexdigest(),
        "announce_tool": prompt.announce_tool,
        "sandbox": settings.sandbox or "by task",
    }
