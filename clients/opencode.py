"""opencode.

Servers are read from `opencode.json`, in `~/.config/opencode` or in the project, where
`opencode.jsonc` may stand in its place. It tells nothing of a server that it could not use.
"""

from __future__ import annotations

import json
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
from clients.transcript import Failure, Transcript, failure_of, is_lost, read_events

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_PREFIX = f"{SERVER_NAME}_"
_PROVIDER = "endpoint"
_KEY_VARIABLE = "OPENAI_API_KEY"
_OWN_ASK = "question"
# The tool that stands in a call's place when the one that was called is not there.
_ABSENT = "invalid"
_DENIED = ("The user rejected permission", "The user has specified a rule which prevents")
# `task` starts sub-agents; `question` waits for a person.
_PERMISSION = {
    f"{_PREFIX}*": "allow",
    "bash": "allow",
    "edit": "allow",
    "webfetch": "deny",
    "websearch": "deny",
    "question": "deny",
    "task": "deny",
    "external_directory": "deny",
}


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        if scope == "user":
            base = places.folder("XDG_CONFIG_HOME", places.home / ".config")
            folder = base / "opencode"
        else:
            folder = places.project
        plain, commented = folder / "opencode.json", folder / "opencode.jsonc"
        path = commented if commented.exists() and not plain.exists() else plain
        return ConfigTarget(path=path, format="json", keys=("mcp",))

    def entry(self, server: Server) -> Mapping[str, object]:
        waits = {"enabled": True, "timeout": CALL_LIMIT_S * 1000}
        if isinstance(server, StdioServer):
            return {
                "type": "local",
                "command": [server.command, *server.args],
                "environment": dict(server.env),
                **waits,
            }
        entry: dict[str, object] = {"type": "remote", "url": server.url, "oauth": False}
        if server.token_variable:
            entry["headers"] = {"Authorization": f"Bearer {{env:{server.token_variable}}}"}
        return {**entry, **waits}

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        return (
            "opencode mcp list    shows whether the server answers",
            "opencode    starts a session",
        )


class _Cache(BaseModel):
    read: int = 0
    write: int = 0


class _Tokens(BaseModel):
    input: int = 0
    output: int = 0
    cache: _Cache = _Cache()


class _ToolState(BaseModel):
    status: str | None = None
    input: dict[str, object] | None = None
    error: str | None = None


class _Part(BaseModel):
    tool: str | None = None
    state: _ToolState | None = None
    text: str | None = None
    tokens: _Tokens | None = None
    cost: float | None = None

    def called(self) -> str:
        """The tool that the model called, whether it was there or not."""
        if self.tool == _ABSENT and self.state and self.state.input:
            return str(self.state.input.get("tool", ""))
        return self.tool or ""

    def error(self) -> str:
        return (self.state.error if self.state else None) or ""


class _ErrorData(BaseModel):
    message: str = ""


class _Error(BaseModel):
    name: str = ""
    data: _ErrorData = _ErrorData()


class _Event(BaseModel):
    type: str
    part: _Part = _Part()
    error: _Error | None = None


class _Headless:
    program: Literal["opencode"] = "opencode"
    login = Login(
        variables=(
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
        ),
        files=(".local/share/opencode/auth.json",),
    )

    endpoint: None = None  # its providers are many

    def launch(self, job: Job) -> Launch:
        config = job.home / "opencode.json"
        key = {} if job.model.key is None else {_KEY_VARIABLE: job.model.key}
        model = job.model.name
        settings: dict[str, object] = {
            "mcp": {SERVER_NAME: _Registration().entry(job.server)},
            "permission": _PERMISSION,
            "autoupdate": False,
            "share": "disabled",
        }
        if job.model.base_url is not None and model is not None:
            options = {"baseURL": f"{job.model.base_url}/v1", "apiKey": f"{{env:{_KEY_VARIABLE}}}"}
            settings["provider"] = {
                _PROVIDER: {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": _PROVIDER,
                    "options": options,
                    "models": {model: {"name": model, "tool_call": True}},
                }
            }
            model = f"{_PROVIDER}/{model}"
        return Launch(
            arguments=(
                *("run", "--format", "json", "--auto"),
                *(() if model is None else ("-m", model)),
            ),
            environment={
                **job.environment,
                **key,
                "HOME": str(job.home),
                "OPENCODE_CONFIG": str(config),
                # The task's own repository must not bring servers or settings.
                "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
            },
            stdin=job.prompt,
            files={config: json.dumps(settings)},
        )

    def read(self, finished: Finished) -> Transcript:
        events, unread = read_events(finished.stdout, _Event)
        tools = [event.part for event in events if event.type == "tool_use"]
        steps = [event.part for event in events if event.type == "step_finish"]
        tokens = [step.tokens for step in steps if step.tokens]
        ours = [part for part in tools if part.called().startswith(_PREFIX)]
        said = [event.part.text or "" for event in events if event.type == "text"]
        return Transcript(
            ask_calls=sum(part.called() == _PREFIX + ASK_TOOL for part in tools),
            tool_calls=len(tools),
            turns=len(steps) if events else None,
            input_tokens=_sum(t.input + t.cache.read + t.cache.write for t in tokens),
            output_tokens=_sum(t.output for t in tokens),
            cost_usd=sum(step.cost or 0.0 for step in steps) if steps else None,
            model=None,
            version=None,
            final_text=said[-1] if said else "",
            offered=None,
            own_asks=sum(part.called() == _OWN_ASK for part in tools),
            denied=sum(part.error().startswith(_DENIED) for part in ours),
            # It takes the tools of a server that is gone out of its list.
            lost=sum(part.tool == _ABSENT or is_lost(part.error()) for part in ours),
            unread_lines=unread,
            failure=_failure(finished, events),
        )


def _sum(counts: Iterable[int]) -> int | None:
    """The sum; None of nothing, since nothing was told."""
    numbers = list(counts)
    return sum(numbers) if numbers else None


def _failure(finished: Finished, events: Sequence[_Event]) -> Failure | None:
    error = next((event.error for event in reversed(events) if event.error), None)
    if error is not None:
        return failure_of(f"{error.name}: {error.data.message}")
    if finished.exit_status == 0:
        return None
    return failure_of(finished.complaint())


OPENCODE = Client(
    name="opencode",
    title="opencode",
    registration=_Registration(),
    headless=_Headless(),
)
