"""One attempt: a cell, a session, an agent, and the folder that holds what came of it.

`attempts/<attempt_id>/` gets the prompt, the session log, the agent's transcript and stderr, the
submission and, last of all, `attempt.json`. A folder without that file is an attempt that was
interrupted: it counts as not made.
"""

from __future__ import annotations

import errno
import logging
import secrets
import time
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio

from clients.client import Finished, HttpServer, Job, Model
from clients.errors import ClientError
from clients.run_client import headless_of, link_login, write_files
from hil_mcp.errors import HilMcpError, IsolationError, SandboxError
from hil_mcp.events import Question, Submission
from hil_mcp.prompts import prompt_for
from hil_mcp.run_folder import AttemptRecord, LogHeadEntry, write_record
from hil_mcp.runs.agent_process import AgentCommand, Leash, run_agent
from hil_mcp.runs.isolation import open_cell
from hil_mcp.runs.model_proxy import ModelProxy, ModelProxyConfig
from hil_mcp.runs.model_traffic import Limit
from hil_mcp.runs.outcome import Ending, Evidence, Ruling, rule
from hil_mcp.runs.plan import attempt_id
from hil_mcp.runs.probe import probe, refuse
from hil_mcp.runs.session_endpoint import open_session_endpoint
from hil_mcp.session import SessionConditions
from hil_mcp.session_opening import LOG_NAME
from hil_mcp.session_reader import read_session
from hil_mcp.settings import TOKEN_VARIABLE, search_path
from hil_mcp.task_errors import first_error
from judge.errors import JudgeError
from task_store.errors import TaskStoreError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from hil_mcp.run_folder import PlannedAttempt
    from hil_mcp.runs.agent_process import AgentEnd
    from hil_mcp.runs.cell import Cell
    from hil_mcp.runs.run_parts import RunParts
    from hil_mcp.runs.session_endpoint import SessionEndpoint
    from hil_mcp.session_reader import SessionRecord

logger = logging.getLogger(__name__)

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""What a disk says that takes no more: no further attempt could be kept."""
TRANSCRIPT_NAME = "transcript.jsonl"
_STDERR_NAME = "stderr.txt"
_PROBE_LIMIT_S = 60.0
_ENDINGS = {
    Limit.TURNS: Ending.TURN_LIMIT,
    Limit.REQUESTS: Ending.REQUEST_LIMIT,
    Limit.COST: Ending.MONEY_LIMIT,
}


async def make_attempt(
    parts: RunParts, planned: PlannedAttempt, try_number: int, attempts_dir: Path
) -> AttemptRecord:
    """Make one attempt and write down what came of it.

    Args:
        parts: What the attempts of the run share.
        planned: Which one.
        try_number: From 1; its folder must not be there yet.
        attempts_dir: Gets the folder.

    Raises:
        IsolationError: The agent could read what must be kept from it; nothing was launched.
        OSError: The folder cannot be written, or the disk takes no more.
    """
    name = attempt_id(planned, parts.client.name, try_number)
    attempt = _Attempt(parts, planned, name, attempts_dir / name)
    started_at, started = datetime.now(UTC), time.monotonic()
    attempt.folder.mkdir(parents=True, mode=0o700)
    evidence: Evidence | None = None
    try:
        with first_error():
            evidence = await attempt.live()
        ruling = rule(evidence)
    except IsolationError:
        raise  # it would be the same for every attempt
    except (HilMcpError, TaskStoreError, ClientError, JudgeError) as exc:
        ruling = Ruling(outcome="harness_error", detail=str(exc))
    except Exception as exc:
        if isinstance(exc, OSError) and exc.errno in FULL_DISK:
            raise
        # The other attempts of a run that takes weeks go on; the traceback is kept.
        logger.exception("an attempt failed in a way that is not foreseen")
        detail = f"a bug of ours ({type(exc).__name__}); its traceback is kept in HIL_MCP_HOME"
        ruling = Ruling(outcome="harness_error", detail=detail)
    known = {
        "attempt_id": name,
        "task_id": planned.task_id,
        "mode": planned.mode,
        "pass_number": planned.pass_number,
        "try_number": try_number,
        "outcome": ruling.outcome,
        "detail": ruling.detail,
        "flags": ruling.flags,
        "started_at": started_at,
        "duration_s": round(time.monotonic() - started, 3),
    }
    record = AttemptRecord.model_validate({**known, **_told(evidence)})
    write_record(attempt.folder, record)
    return record


class _Attempt:
    """The parts of one attempt that belong together."""

    def __init__(self, parts: RunParts, planned: PlannedAttempt, name: str, folder: Path) -> None:
        self.folder = folder
        self._parts = parts
        self._planned = planned
        self._name = name
        # Opaque: nothing of the task is in what the agent can see of its own processes.
        self._marker = secrets.token_hex(16)
        self._token = secrets.token_urlsafe(32)
        limits = parts.limits
        self._leash = Leash(time_limit_s=limits.time_limit_s, idle_limit_s=limits.idle_limit_s)

    async def live(self) -> Evidence:
        """Let the agent live its life, and gather what is known of it."""
        parts, planned = self._parts, self._planned
        task = parts.servers.store.get(planned.task_id, digest=planned.task_digest)
        prompt = prompt_for(task, planned.mode, parts.prompt)
        (self.folder / "prompt.txt").write_text(prompt, encoding="utf-8")
        log_path = self.folder / LOG_NAME
        async with AsyncExitStack() as opened:
            cell = await opened.enter_async_context(
                open_cell(parts.isolation, parts.cells_dir / self._marker, marker=self._marker)
            )
            endpoint = await opened.enter_async_context(
                open_session_endpoint(
                    task,
                    self._conditions(),
                    parts.servers,
                    log_path=log_path,
                    listener=cell.session_listener,
                    token=self._token,
                )
            )
            proxy = await opened.enter_async_context(self._way_to_model(cell))
            await self._check(cell, endpoint, has_model=proxy is not None)
            end, finished = await self._run(cell, endpoint, proxy, prompt)
            # While the home is still there: some agents keep a part of what they tell in it.
            transcript = headless_of(parts.client).read(finished)
            faults = tuple(endpoint.session.faults)
            traffic = None if proxy is None else proxy.observed()
        session = read_session(log_path)
        _keep_submission(session, self.folder)
        return Evidence(
            ending=end.ending,
            exit_status=end.exit_status,
            transcript=transcript,
            session=session,
            server_faults=faults,
            traffic=traffic,
        )

    def _conditions(self) -> SessionConditions:
        parts, conditions = self._parts, self._parts.conditions
        return SessionConditions(
            mode=self._planned.mode,
            prompt_digest=conditions.prompt_digest,
            counting_rules=conditions.counting_rules,
            agent=conditions.agent,
            isolation=conditions.isolation,
            pass_number=self._planned.pass_number,
            run_id=parts.run_id,
            attempt_id=self._name,
            server_version=parts.server_version,
            git_revision=parts.git_revision,
        )

    @asynccontextmanager
    async def _way_to_model(self, cell: Cell) -> AsyncGenerator[ModelProxy | None]:
        access, limits = self._parts.access, self._parts.limits
        if access.endpoint is None:
            yield None
            return
        config = ModelProxyConfig(
            endpoint=access.endpoint,
            real_key=access.key,
            placeholder=self._placeholder,
            limits=limits.model,
            upstream_timeout_s=limits.model_timeout_s,
        )
        proxy = ModelProxy(
            config, self._parts.http, on_limit=lambda limit: self._leash.pull(_ENDINGS[limit])
        )
        async with anyio.create_task_group() as serving:
            await serving.start(proxy.serve, cell.model_listener)
            yield proxy
            serving.cancel_scope.cancel()

    @property
    def _placeholder(self) -> str:
        """Stands for the user's key: worth nothing anywhere but at this attempt's proxy."""
        return f"hil-mcp-{self._marker}"

    async def _check(self, cell: Cell, endpoint: SessionEndpoint, *, has_model: bool) -> None:
        """As the agent: is the protected set out of reach, and are the tools within it?"""
        report = await probe(
            cell,
            protected=self._parts.isolation.protected,
            programs=self._parts.isolation.programs,
            session_url=endpoint.url,
            token=self._token,
            model_url=_url(cell) if has_model else None,
            expected_tools=endpoint.tool_names,
            env=self._environment(),
            limit_s=_PROBE_LIMIT_S,
        )
        refuse(report, self._parts.isolation)
        fault = report.fault()
        if fault is not None:
            raise SandboxError(fault)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": search_path(),
            "LANG": "C.UTF-8",
            TOKEN_VARIABLE: self._token,
        }

    async def _run(
        self, cell: Cell, endpoint: SessionEndpoint, proxy: ModelProxy | None, prompt: str
    ) -> tuple[AgentEnd, Finished]:
        parts = self._parts
        launch = headless_of(parts.client).launch(self._job(cell, endpoint, prompt))
        write_files(launch.files)
        if parts.access.login_home is not None:
            link_login(headless_of(parts.client), user_home=parts.access.login_home, home=cell.home)

        def signs() -> object | None:
            seen = endpoint.session.log.head.seq
            if proxy is None:
                return seen
            traffic = proxy.observed()
            return None if traffic.in_flight_since is not None else (seen, traffic.last_activity)

        stdout, stderr = self.folder / TRANSCRIPT_NAME, self.folder / _STDERR_NAME
        command = AgentCommand(
            command=cell.command([str(parts.program), *launch.arguments]),
            environment=launch.environment,
            stdin=launch.stdin,
            cwd=cell.workspace,
            stdout_path=stdout,
            stderr_path=stderr,
        )
        end = await run_agent(command, self._leash, signs=signs)
        finished = Finished(
            exit_status=end.exit_status,
            stdout=stdout.read_text(encoding="utf-8", errors="replace"),
            stderr=stderr.read_text(encoding="utf-8", errors="replace"),
            home=cell.home,
        )
        return end, finished

    def _job(self, cell: Cell, endpoint: SessionEndpoint, prompt: str) -> Job:
        access, environment = self._parts.access, self._environment()
        key = None
        if access.endpoint is None:
            environment |= access.variables
        elif access.key_variable is not None:
            environment[access.key_variable] = self._placeholder
        else:
            key = self._placeholder
        return Job(
            server=HttpServer(url=endpoint.url, token_variable=TOKEN_VARIABLE),
            model=Model(
                name=access.name,
                base_url=None if access.endpoint is None else _url(cell),
                key=key,
            ),
            prompt=prompt,
            workspace=cell.workspace,
            home=cell.home,
            environment=environment,
        )


def _url(cell: Cell) -> str:
    host, port = cell.model_listener.getsockname()[:2]
    return f"http://{host}:{port}"


def _keep_submission(session: SessionRecord, folder: Path) -> None:
    """Keep the last submission as a file that can be looked at."""
    submissions = session.of(Submission)
    if submissions and submissions[-1].content is not None:
        last = submissions[-1]
        data = (last.content or "").encode("utf-8", "surrogatepass")
        (folder / f"submission.{last.kind}").write_bytes(data)


def _told(evidence: Evidence | None) -> dict[str, object]:
    """The part of an attempt's record that its agent and log tell."""
    if evidence is None:
        return {"log_head": None}
    said, traffic, head = evidence.transcript, evidence.traffic, evidence.session.head
    told: dict[str, object] = {
        "log_head": LogHeadEntry(seq=head.seq, sha256=head.sha256),
        "exit_status": evidence.exit_status,
        "model": said.model,
        "turns": said.turns,
        "input_tokens": said.input_tokens,
        "output_tokens": said.output_tokens,
        "cost_usd": said.cost_usd,
        "n_questions": len(evidence.session.of(Question)),
        "ask_calls": said.ask_calls,
        "tool_calls": said.tool_calls,
    }
    if traffic is None:
        return told
    # What was seen from outside goes before what the agent says of itself.
    tokens = traffic.tokens
    seen: dict[str, object | None] = {
        "n_requests": traffic.n_requests,
        "turns": traffic.n_turns,
        "model": traffic.models[0] if traffic.models else None,
        "input_tokens": tokens and tokens.input_tokens,
        "output_tokens": tokens and tokens.output_tokens,
        "cost_usd": traffic.cost_usd,
    }
    return told | {name: value for name, value in seen.items() if value is not None}
