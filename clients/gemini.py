"""Gemini CLI.

Servers are read from `settings.json`, in `~/.gemini` or in the project's `.gemini`. In a folder
that is not trusted it drops every server, the user's too, and a headless run ends with status 55.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from clients.client import (
    ASK_TOOL,
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
from clients.transcript import (
    Failure,
    FailureKind,
    Transcript,
    failure_of,
    is_lost,
    read_events,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PREFIX = f"mcp_{SERVER_NAME}_"
# Its web tools, its memory, its sub-agents and its plan mode, which waits for a person.
_OFF = (
    *("google_web_search", "web_fetch", "save_memory", "ask_user", "invoke_agent"),
    *("enter_plan_mode", "exit_plan_mode"),
)
_OWN_ASK = "ask_user"
_DENIED = re.compile(r"Tool execution (for .* requires user confirmation|.*denied by policy)")
# Before it stands the call as the agent made it.
_INNER_ERROR = re.compile(r'.* with response: .*?"error":\{"message":"', re.DOTALL)
_TURN_LIMIT_STATUS = 53


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        folder = places.home if scope == "user" else places.project
        return ConfigTarget(
            path=folder / ".gemini" / "settings.json", format="json", keys=("mcpServers",)
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
        return {**entry, "timeout": CALL_LIMIT_S * 1000, "trust": True}

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        return (
            "Gemini CLI uses servers in trusted folders only: trust this one when it asks",
            "gemini mcp list    shows whether the server answers",
            "gemini    starts a session",
        )


class _Tokens(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Stats(_Tokens):
    models: dict[str, _Tokens] = {}


class _Error(BaseModel):
    message: str = ""


class _Event(BaseModel):
    type: str
    role: str | None = None
    content: str | None = None
    delta: bool = False
    model: str | None = None
    tool_name: str | None = None
    tool_id: str | None = None
    status: str | None = None
    output: str | None = None
    error: _Error | None = None
    severity: str | None = None
    message: str | None = None
    stats: _Stats | None = None


class _Headless:
    program: Literal["gemini"] = "gemini"
    login = Login(
        variables=(
            "GEMINI_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
        ),
        files=(
            ".gemini/oauth_creds.json",
            ".gemini/google_accounts.json",
        ),
    )

    endpoint: Literal["https://generativelanguage.googleapis.com"] = (
        "https://generativelanguage.googleapis.com"
    )

    def launch(self, job: Job) -> Launch:
        settings: dict[str, object] = {
            "mcpServers": {SERVER_NAME: _Registration().entry(job.server)},
            "tools": {"exclude": list(_OFF)},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"disableAutoUpdate": True},
            "security": {"auth": {"selectedType": _login_kind(job)}},
        }
        if job.max_turns is not None:
            settings["model"] = {"maxSessionTurns": job.max_turns}
        environment = {**job.environment, "HOME": str(job.home)}
        if job.model.base_url is not None:
            environment["GOOGLE_GEMINI_BASE_URL"] = job.model.base_url
        if job.model.key is not None:
            environment["GEMINI_API_KEY"] = job.model.key
        return Launch(
            arguments=(
                *("-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
                *("--allowed-mcp-server-names", SERVER_NAME),
                *(() if job.model.name is None else ("-m", job.model.name)),
            ),
            environment=environment,
            stdin=job.prompt,
            files={job.home / ".gemini" / "settings.json": json.dumps(settings)},
        )

    def read(self, finished: Finished) -> Transcript:
        events, unread = read_events(finished.stdout, _Event)
        init = next((event for event in events if event.type == "init"), None)
        result = next((event for event in reversed(events) if event.type == "result"), None)
        names = {e.tool_id: e.tool_name or "" for e in events if e.type == "tool_use"}
        errors = [
            event.error.message
            for event in events
            if event.error and names.get(event.tool_id, "").startswith(_PREFIX)
        ]
        stats = result.stats if result else None
        return Transcript(
            ask_calls=list(names.values()).count(_PREFIX + ASK_TOOL),
            tool_calls=len(names),
            turns=None,
            input_tokens=stats.input_tokens if stats else None,
            output_tokens=stats.output_tokens if stats else None,
            cost_usd=None,
            model=init.model if init else None,
            version=None,
            final_text=_last_text(events),
            # It speaks of a server only when it could not use it.
            offered=False if "MCP issues detected" in finished.stderr else None,
            own_asks=list(names.values()).count(_OWN_ASK),
            denied=sum(_DENIED.match(error) is not None for error in errors),
            lost=sum(is_lost(_INNER_ERROR.sub("", error)) for error in errors),
            unread_lines=unread,
            failure=_failure(finished, events, result),
        )


def _login_kind(job: Job) -> str:
    has_key = job.model.key is not None or "GEMINI_API_KEY" in job.environment
    return "gemini-api-key" if has_key else "oauth-personal"


def _last_text(events: Sequence[_Event]) -> str:
    """What the model said since its last tool call: the text comes in pieces."""
    pieces: list[str] = []
    for event in events:
        if event.type == "tool_use":
            pieces.clear()
        elif event.type == "message" and event.role == "assistant":
            pieces.append(event.content or "")
    return "".join(pieces)


def _failure(finished: Finished, events: Sequence[_Event], result: _Event | None) -> Failure | None:
    errors = [event.message or "" for event in events if event.type == "error"]
    if result is not None and result.error is not None:
        errors.append(result.error.message)
    message = "; ".join(error for error in errors if error) or finished.complaint()
    if finished.exit_status == _TURN_LIMIT_STATUS:
        return Failure(kind=FailureKind.TURN_LIMIT, message=message)
    if finished.exit_status == 0 and result is not None and result.status == "success":
        return None
    return failure_of(message)


GEMINI = Client(
    name="gemini",
    title="Gemini CLI",
    registration=_Registration(),
    headless=_Headless(),
)
