"""Claude Code.

Servers are read from `~/.claude.json` (user) or `.mcp.json` in the project. In a headless run it
waits about 2 s for a server and then goes on without it, in silence, unless the entry says
`alwaysLoad` and the environment tells it to wait; a server it could not use shows only in the
`init` event.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from clients.client import (
    CALL_LIMIT_S,
    SERVER_NAME,
    STARTUP_LIMIT_S,
    Client,
    ConfigTarget,
    Finished,
    Job,
    Launch,
    Login,
    Places,
    Scope,
    Server,
    StdioServer,
)
from clients.stream_json import read_stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.transcript import Transcript

_OWN_TOOLS = ("Bash", "Read", "Edit", "Write", "Glob", "Grep")
# Ways of its own to get help or to wait for it: with them ask_human would not be the only one.
_OFF = ("AskUserQuestion", "WebSearch", "WebFetch", "Agent", "SendMessage", "ScheduleWakeup")


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        if scope == "user":
            path = places.folder("CLAUDE_CONFIG_DIR", places.home) / ".claude.json"
        else:
            path = places.project / ".mcp.json"
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


class _Headless:
    program: Literal["claude"] = "claude"
    login = Login(
        variables=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ),
        files=(".claude/.credentials.json",),
    )

    endpoint: Literal["https://api.anthropic.com"] = "https://api.anthropic.com"

    def launch(self, job: Job) -> Launch:
        config = job.home / "hil-mcp.json"
        servers = {"mcpServers": {SERVER_NAME: _Registration().entry(job.server)}}
        arguments = [
            *("-p", "--output-format", "stream-json", "--verbose"),
            *(() if job.model.name is None else ("--model", job.model.name)),
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
        return read_stream(finished)


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


CLAUDE_CODE = Client(
    name="claude-code",
    title="Claude Code",
    registration=_Registration(),
    headless=_Headless(),
)
