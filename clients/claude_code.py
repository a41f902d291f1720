"""Claude Code.

Servers are read from `~/.claude.json` (user) or `.mcp.json` in the project. In a headless run it
waits about 2 s for a server and then goes on without it, in silence, unless the entry says
`alwaysLoad` and the environment tells it to wait; a server it could not use shows only in the
`init` event.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from clients.client import (
    ASK_TOOL,
    CALL_LIMIT_S,
    SERVER_NAME,
    STARTUP_LIMIT_S,
    Client,
    ConfigTarget,
    Finished,
    Job,
    Launch,
    Places,
    Scope,
    Server,
    StdioServer,
)
from clients.transcript import Failure, FailureKind, Transcript, failure_of, read_events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PREFIX = f"mcp__{SERVER_NAME}__"
_OWN_TOOLS = ("Bash", "Read", "Edit", "Write", "Glob", "Grep")
# Ways of its own to get help or to wait for it: with them ask_human would not be the only one.
_OFF = ("AskUserQuestion", "WebSearch", "WebFetch", "Agent", "SendMessage", "ScheduleWakeup")
_LOST = ("No such tool available", "Not connected", "Connection closed")


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        path = places.home / ".claude.json" if scope == "user" else places.project / ".mcp.json"
        return ConfigTarget(path=path, format="json", keys=("mcpServers",))

    def entry(self, server: Server) -> Mapping[str, object]:
        waits = {"alwaysLoad": True, "timeout": CALL_LIMIT_S * 1000}
        if isinstance(server, StdioServer):
            return {
                "type": "stdio",
                "command": server.command,
                "args": list(server.args),
                "env": dict(server.env),
                **waits,
            }
        entry: dict[str, object] = {"type": "http", "url": server.url}
        if server.token_variable:
            entry["headers"] = {"Authorization": f"Bearer ${{{server.token_variable}}}"}
        return {**entry, **waits}

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        steps = [
            "claude mcp list    shows whether the server answers",
            "claude    starts a session",
        ]
        if scope == "project":
            steps.insert(0, "Claude Code asks once whether to trust the servers of .mcp.json")
        return tuple(steps)


class _ServerState(BaseModel):
    name: str
    status: str


class _Block(BaseModel):
    type: str
    name: str = ""
    content: str | list[dict[str, object]] | None = None
    is_error: bool | None = None


class _Message(BaseModel):
    id: str | None = None
    content: str | list[_Block] = []

    def blocks(self) -> list[_Block]:
        return self.content if isinstance(self.content, list) else []


class _Usage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class _Denial(BaseModel):
    tool_name: str


class _Event(BaseModel):
    type: str
    subtype: str | None = None
    message: _Message | None = None
    # system/init
    tools: list[str] = []
    mcp_servers: list[_ServerState] = []
    model: str | None = None
    version: str | None = Field(default=None, alias="claude_code_version")
    # result
    is_error: bool = False
    api_error_status: int | None = None
    result: str | None = None
    errors: list[str] = []
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    usage: _Usage | None = None
    permission_denials: list[_Denial] = []


class _Headless:
    program: Literal["claude"] = "claude"

    def launch(self, job: Job) -> Launch:
        config = job.home / "hil-mcp.json"
        servers = {"mcpServers": {SERVER_NAME: _Registration().entry(job.server)}}
        arguments = [
            *("-p", "--output-format", "stream-json", "--verbose", "--model", job.model.name),
            *("--mcp-config", str(config), "--strict-mcp-config", "--setting-sources", ""),
            *("--permission-mode", "dontAsk", "--tools", ",".join(_OWN_TOOLS)),
            *("--allowedTools", f"mcp__{SERVER_NAME}", *_OWN_TOOLS),
            *("--disallowedTools", *_OFF),
        ]
        if job.max_turns is not None:
            arguments += ["--max-turns", str(job.max_turns)]
        if job.max_cost_usd is not None:
            arguments += ["--max-budget-usd", str(job.max_cost_usd)]
        return Launch(
            arguments=tuple(arguments),
            environment={**job.environment, **_environment(job)},
            stdin=job.prompt,
            files={config: json.dumps(servers)},
        )

    def read(self, finished: Finished) -> Transcript:
        events, unread = read_events(finished.stdout, _Event)
        init = next((event for event in events if event.subtype == "init"), None)
        result = next((event for event in reversed(events) if event.type == "result"), None)
        calls = [block.name for block in _blocks(events) if block.type == "tool_use"]
        answers = {e.message.id for e in events if e.type == "assistant" and e.message}
        usage = result.usage if result else None
        cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens if usage else 0
        return Transcript(
            ask_calls=calls.count(_PREFIX + ASK_TOOL),
            tool_calls=len(calls),
            turns=len(answers) if events else None,
            input_tokens=usage.input_tokens + cached if usage else None,
            output_tokens=usage.output_tokens if usage else None,
            cost_usd=result.total_cost_usd if result else None,
            model=init.model if init else None,
            version=init.version if init else None,
            final_text=(result.result or "") if result else "",
            offered=_offered(init) if init else None,
            denied=_denied(events, result),
            unread_lines=unread,
            failure=_failure(finished, result),
        )


def _environment(job: Job) -> dict[str, str]:
    wait_ms = str(STARTUP_LIMIT_S * 1000)
    environment = {
        "HOME": str(job.home),
        "CLAUDE_CONFIG_DIR": str(job.home / ".claude"),
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_CONNECT_TIMEOUT_MS": wait_ms,
        "MCP_TIMEOUT": wait_ms,
        "MCP_TOOL_TIMEOUT": str(CALL_LIMIT_S * 1000),
        "ENABLE_TOOL_SEARCH": "false",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    if job.model.base_url is not None:
        environment["ANTHROPIC_BASE_URL"] = job.model.base_url
    if job.model.key is not None:
        environment["ANTHROPIC_API_KEY"] = job.model.key
    return environment


def _blocks(events: Sequence[_Event]) -> list[_Block]:
    return [block for event in events if event.message for block in event.message.blocks()]


def _offered(init: _Event) -> bool:
    states = {server.name: server.status for server in init.mcp_servers}
    return states.get(SERVER_NAME) == "connected" and _PREFIX + ASK_TOOL in init.tools


def _denied(events: Sequence[_Event], result: _Event | None) -> int:
    denials = result.permission_denials if result else []
    lost = [
        block
        for block in _blocks(events)
        if block.type == "tool_result"
        and block.is_error
        and any(word in str(block.content) for word in _LOST)
    ]
    return sum(denial.tool_name.startswith(_PREFIX) for denial in denials) + len(lost)


def _failure(finished: Finished, result: _Event | None) -> Failure | None:
    if result is None:
        if finished.exit_status == 0:
            return Failure(kind=FailureKind.OTHER, message="it ended without a result")
        return failure_of(finished.stderr.strip() or f"exit status {finished.exit_status}")
    message = "; ".join(result.errors) or result.result or result.subtype or ""
    if result.api_error_status is not None:
        return Failure(kind=FailureKind.ENDPOINT, message=message)
    kinds = {
        "error_max_turns": FailureKind.TURN_LIMIT,
        "error_max_budget_usd": FailureKind.COST_LIMIT,
    }
    if result.subtype in kinds:
        return Failure(kind=kinds[result.subtype], message=message)
    if result.stop_reason == "refusal":
        return Failure(kind=FailureKind.REFUSED, message=message)
    if result.is_error or finished.exit_status != 0:
        return failure_of(message)
    return None


CLAUDE_CODE = Client(
    name="claude-code",
    title="Claude Code",
    registration=_Registration(),
    headless=_Headless(),
)
