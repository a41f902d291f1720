"""Codex CLI.

Servers are tables of `config.toml`, in `~/.codex` or in a trusted project's `.codex`. It passes
next to nothing of its environment on to a server, refuses calls that need an approval when nobody
can give it, and goes on without a server that does not start unless the entry says `required`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, cast

from pydantic import BaseModel

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
    Login,
    Places,
    Scope,
    Server,
    StdioServer,
)
from clients.transcript import Failure, FailureKind, Transcript, failure_of, read_events

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY_VARIABLE = "OPENAI_API_KEY"
# Remote catalogues, sub-agents and goals of its own, and a person who would have to answer.
_OFF = ("plugins", "apps", "multi_agent", "goals", "default_mode_request_user_input")
_OWN_ASK = "request_user_input"
_DENIED = ("MCP tool call requires approval", "user rejected MCP", "user cancelled MCP")
# Behind a line of its own for each cause; what a server answers stands elsewhere.
_LOST = re.compile(r"Caused by:\s+(Transport (closed|send error)|timed out)")


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        if scope == "user":
            folder = places.folder("CODEX_HOME", places.home / ".codex")
        else:
            folder = places.project / ".codex"
        return ConfigTarget(path=folder / "config.toml", format="toml", keys=("mcp_servers",))

    def entry(self, server: Server) -> Mapping[str, object]:
        entry: dict[str, object]
        if isinstance(server, StdioServer):
            entry = {"command": server.command, "args": list(server.args)}
            if server.env:
                entry["env"] = dict(server.env)
        else:
            entry = {"url": server.url}
            if server.token_variable:
                entry["bearer_token_env_var"] = server.token_variable
        return {
            **entry,
            "required": True,
            "startup_timeout_sec": STARTUP_LIMIT_S,
            "tool_timeout_sec": CALL_LIMIT_S,
            "default_tools_approval_mode": "approve",
        }

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        steps = [f"codex mcp get {SERVER_NAME}    shows the entry", "codex    starts a session"]
        if scope == "project":
            steps.insert(0, "Codex reads .codex/config.toml of trusted projects only: trust it")
        return tuple(steps)


class _Error(BaseModel):
    message: str = ""


class _Item(BaseModel):
    type: str
    server: str | None = None
    tool: str | None = None
    text: str | None = None
    message: str | None = None
    error: _Error | None = None

    def complaint(self) -> str:
        return self.error.message if self.error else ""


class _Usage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0


class _Event(BaseModel):
    type: str
    item: _Item | None = None
    usage: _Usage | None = None
    error: _Error | None = None
    message: str | None = None


class _TokenInfo(BaseModel):
    total_token_usage: _Usage | None = None


class _Payload(BaseModel):
    type: str | None = None
    name: str | None = None
    model: str | None = None
    cli_version: str | None = None
    info: _TokenInfo | None = None


class _RolloutLine(BaseModel):
    type: str
    payload: _Payload


class _Headless:
    program: Literal["codex"] = "codex"
    login = Login(
        variables=(
            "CODEX_API_KEY",
            "OPENAI_API_KEY",
        ),
        files=(".codex/auth.json",),
    )
    endpoint: Literal["https://api.openai.com"] = "https://api.openai.com"

    def launch(self, job: Job) -> Launch:
        settings: dict[str, object] = {
            f"mcp_servers.{SERVER_NAME}": _Registration().entry(job.server),
            "web_search": "disabled",
            "analytics.enabled": False,
        }
        environment = {
            **job.environment,
            "HOME": str(job.home),
            "CODEX_HOME": str(job.home / ".codex"),
        }
        if job.model.base_url is not None:
            settings["model_provider"] = "endpoint"
            settings["model_providers.endpoint"] = {
                "name": "endpoint",
                "base_url": f"{job.model.base_url}/v1",
                "wire_api": "responses",
                "env_key": _KEY_VARIABLE,
            }
        if job.model.key is not None:
            # CODEX_API_KEY is for the vendor's own endpoint.
            variable = "CODEX_API_KEY" if job.model.base_url is None else _KEY_VARIABLE
            environment[variable] = job.model.key
        arguments = [
            *("exec", "--json", "--skip-git-repo-check", "--ignore-user-config"),
            *("--ignore-rules", "-s", "danger-full-access"),
            *(() if job.model.name is None else ("-m", job.model.name)),
            *(word for key, value in settings.items() for word in ("-c", f"{key}={_toml(value)}")),
            *(word for feature in _OFF for word in ("--disable", feature)),
            *("-C", str(job.workspace), "-"),
        ]
        return Launch(
            arguments=tuple(arguments),
            environment=environment,
            stdin=job.prompt,
            # It refuses a CODEX_HOME that does not exist.
            files={job.home / ".codex" / "config.toml": ""},
        )

    def read(self, finished: Finished) -> Transcript:
        events, unread = read_events(finished.stdout, _Event)
        rollout = _rollout(finished)
        done = [event.item for event in events if event.type == "item.completed" and event.item]
        ours = [item for item in done if item.server == SERVER_NAME]
        said = [item.text or "" for item in done if item.type == "agent_message"]
        usage = next((event.usage for event in reversed(events) if event.usage), None)
        usage = usage or _last_usage(rollout)
        own = ("mcp_tool_call", "command_execution", "file_change", "web_search")
        return Transcript(
            ask_calls=sum(item.tool == ASK_TOOL for item in ours),
            tool_calls=sum(item.type in own for item in done),
            turns=_answers(rollout),
            input_tokens=usage.input_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
            cost_usd=None,
            model=next((line.payload.model for line in rollout if line.payload.model), None),
            version=next((n.payload.cli_version for n in rollout if n.payload.cli_version), None),
            final_text=said[-1] if said else "",
            offered=None,
            own_asks=_own_asks(rollout),
            denied=sum(item.complaint().startswith(_DENIED) for item in ours),
            lost=sum(_LOST.search(item.complaint()) is not None for item in ours),
            unread_lines=unread,
            failure=_failure(finished, events),
        )


def _toml(value: object) -> str:
    """A value as `-c` reads it: TOML on one line."""
    if isinstance(value, Mapping):
        table = cast("Mapping[str, object]", value)
        return "{" + ",".join(f"{key}={_toml(item)}" for key, item in table.items()) + "}"
    # JSON's strings, numbers, booleans and arrays of strings are TOML too.
    return json.dumps(value)


def _rollout(finished: Finished) -> Sequence[_RolloutLine]:
    """The session file that Codex keeps beside its output; it alone has the model."""
    found = (finished.home / ".codex" / "sessions").rglob("rollout-*.jsonl")
    # The agent may have put anything there: a pipe would be read for ever.
    files = sorted(path for path in found if path.is_file() and not path.is_symlink())
    text = files[-1].read_text(encoding="utf-8", errors="replace") if files else ""
    return read_events(text, _RolloutLine)[0]


def _last_usage(rollout: Sequence[_RolloutLine]) -> _Usage | None:
    infos = [line.payload.info for line in rollout if line.payload.info]
    return infos[-1].total_token_usage if infos else None


def _answers(rollout: Sequence[_RolloutLine]) -> int | None:
    """Answers of the model: the tokens of each are noted."""
    return sum(line.type == "token_usage_record" for line in rollout) if rollout else None


def _own_asks(rollout: Sequence[_RolloutLine]) -> int | None:
    """Calls of its own question tool, which its output does not show."""
    calls = [line.payload for line in rollout if line.payload.type == "function_call"]
    return sum(call.name == _OWN_ASK for call in calls) if rollout else None


def _failure(finished: Finished, events: Sequence[_Event]) -> Failure | None:
    failed = next((event for event in events if event.type == "turn.failed"), None)
    if failed is not None:
        return failure_of(failed.error.message if failed.error else "")
    if finished.exit_status == 0:
        return None
    message = finished.complaint()
    if "required MCP servers failed" in message:
        return Failure(kind=FailureKind.NO_SERVER, message=message)
    return failure_of(message)


CODEX = Client(
    name="codex",
    title="Codex CLI",
    registration=_Registration(),
    headless=_Headless(),
)
