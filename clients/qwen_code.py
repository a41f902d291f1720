"""Qwen Code: a fork of Gemini CLI with settings of its own and Claude Code's event stream.

Unless the entry says `alwaysLoadTools`, a server's tools stand behind a tool search: the `init`
event names them, and the model does not see them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from clients.client import (
    CALL_LIMIT_S,
    SERVER_NAME,
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
from clients.stream_json import read_stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.transcript import Transcript

# Its web and memory tools, its helpers, and what waits for a person or a later day.
_OFF = (
    *("web_search", "web_fetch", "save_memory", "ask_user_question", "agent", "task"),
    *("send_message", "list_agents", "monitor", "cron_create", "loop_wakeup", "exit_plan_mode"),
)


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        if scope == "user":
            path = places.home / ".qwen" / "settings.json"
        else:
            path = places.project / ".mcp.json"
        return ConfigTarget(path=path, format="json", keys=("mcpServers",))

    def entry(self, server: Server) -> Mapping[str, object]:
        entry: dict[str, object]
        if isinstance(server, StdioServer):
            entry = {
                "command": server.command,
                "args": list(server.args),
                "env": dict(server.env),
            }
        else:
            entry = {"httpUrl": server.url}
            if server.token_variable:
                entry["headers"] = {"Authorization": f"Bearer ${server.token_variable}"}
        return {**entry, "timeout": CALL_LIMIT_S * 1000, "trust": True, "alwaysLoadTools": True}

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        return (
            "qwen mcp list    shows whether the server answers",
            "qwen    starts a session",
        )


class _Headless:
    program: Literal["qwen"] = "qwen"

    def launch(self, job: Job) -> Launch:
        settings = {
            "mcpServers": {SERVER_NAME: _Registration().entry(job.server)},
            "tools": {"exclude": list(_OFF)},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"disableAutoUpdate": True},
        }
        environment = {**job.environment, "HOME": str(job.home)}
        if job.model.base_url is not None:
            environment["OPENAI_BASE_URL"] = f"{job.model.base_url}/v1"
        if job.model.key is not None:
            environment["OPENAI_API_KEY"] = job.model.key
        turns = () if job.max_turns is None else ("--max-session-turns", str(job.max_turns))
        return Launch(
            arguments=(
                *("-o", "stream-json", "--approval-mode", "yolo", "--auth-type", "openai"),
                *("-m", job.model.name, "--allowed-mcp-server-names", SERVER_NAME, *turns),
            ),
            environment=environment,
            stdin=job.prompt,
            files={job.home / ".qwen" / "settings.json": json.dumps(settings)},
        )

    def read(self, finished: Finished) -> Transcript:
        return read_stream(finished)


QWEN_CODE = Client(
    name="qwen-code",
    title="Qwen Code",
    registration=_Registration(),
    headless=_Headless(),
)
