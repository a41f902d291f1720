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

# Its web and memory tools, its sub-agents, and what waits for a person or a later day.
_OFF = (
    *("web_search", "web_fetch", "save_memory", "ask_user_question", "agent", "task"),
    *("send_message", "list_agents", "monitor", "cron_create", "loop_wakeup", "exit_plan_mode"),
)


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        folder = places.home if scope == "user" else places.project
        # Not .mcp.json, which Claude Code reads too, with other keys.
        return ConfigTarget(
            path=folder / ".qwen" / "settings.json", format="json", keys=("mcpServers",)
        )

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
        steps = ["qwen mcp list    shows whether the server answers", "qwen    starts a session"]
        if scope == "project":
            steps.insert(0, f"qwen mcp approve {SERVER_NAME}    again after every change")
        return tuple(steps)


class _Headless:
    program: Literal["qwen"] = "qwen"
    login = Login(
        variables=(
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_MODEL",
        )
    )

    # What it uses with `--auth-type openai` unless OPENAI_BASE_URL says otherwise.
    endpoint: Literal["https://api.openai.com"] = "https://api.openai.com"

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
        model = () if job.model.name is None else ("-m", job.model.name)
        turns = () if job.max_turns is None else ("--max-session-turns", str(job.max_turns))
        return Launch(
            arguments=(
                *("-o", "stream-json", "--approval-mode", "yolo", "--auth-type", "openai"),
                *("--allowed-mcp-server-names", SERVER_NAME, *model, *turns),
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
