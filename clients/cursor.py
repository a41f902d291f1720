"""Cursor: the editor and `cursor-agent`, which read the same files.

`cursor-agent` uses only servers that were approved, and an approval holds for one exact entry. It
talks to Cursor's own service only, so nothing here was run against a model on loopback.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from clients.client import (
    ASK_TOOL,
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
from clients.transcript import Failure, Transcript, failure_of, read_events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        folder = places.home if scope == "user" else places.project
        return ConfigTarget(
            path=folder / ".cursor" / "mcp.json", format="json", keys=("mcpServers",)
        )

    def entry(self, server: Server) -> Mapping[str, object]:
        if isinstance(server, StdioServer):
            return {
                "command": server.command,
                "args": list(server.args),
                "env": dict(server.env),
            }
        entry: dict[str, object] = {"url": server.url}
        if server.token_variable:
            entry["headers"] = {"Authorization": f"Bearer ${{env:{server.token_variable}}}"}
        return entry

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        return (
            f"in the editor: Settings, MCP: switch {SERVER_NAME} on",
            f"cursor-agent mcp enable {SERVER_NAME}    approves it, again after every change",
            f"cursor-agent mcp list-tools {SERVER_NAME}    shows whether the server answers",
        )


class _Part(BaseModel):
    text: str | None = None


class _Message(BaseModel):
    content: str | list[_Part] = []

    def plain(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text or "" for part in self.content)


class _McpArguments(BaseModel):
    name: str = ""
    tool_name: str = Field(default="", alias="toolName")


class _McpCall(BaseModel):
    args: _McpArguments = _McpArguments()


class _ToolCall(BaseModel):
    mcp: _McpCall | None = Field(default=None, alias="mcpToolCall")

    def asks(self) -> bool:
        return self.mcp is not None and (
            self.mcp.args.tool_name == ASK_TOOL or self.mcp.args.name.endswith(ASK_TOOL)
        )


class _Event(BaseModel):
    type: str
    subtype: str | None = None
    model: str | None = None
    message: _Message | None = None
    tool_call: _ToolCall | None = None
    is_error: bool = False
    result: str | None = None


class _Headless:
    program: Literal["cursor-agent"] = "cursor-agent"
    login = Login(variables=("CURSOR_API_KEY",))
    endpoint: None = None  # it talks to Cursor's own service, wherever it is told to go

    def launch(self, job: Job) -> Launch:
        servers = {"mcpServers": {SERVER_NAME: _Registration().entry(job.server)}}
        rules = {
            "permissions": {
                "allow": [f"Mcp({SERVER_NAME}:*)", "Shell(*)", "Read(**)", "Write(**)"],
                "deny": ["WebFetch(*)"],
            }
        }
        environment = {**job.environment, "HOME": str(job.home)}
        if job.model.key is not None:
            environment["CURSOR_API_KEY"] = job.model.key
        folder = job.home / ".cursor"
        return Launch(
            arguments=(
                *("-p", "--force", "--approve-mcps", "--output-format", "stream-json"),
                *(() if job.model.name is None else ("--model", job.model.name)),
                job.prompt,
            ),
            environment=environment,
            stdin="",
            files={
                folder / "mcp.json": json.dumps(servers),
                folder / "cli-config.json": json.dumps(rules),
            },
        )

    def read(self, finished: Finished) -> Transcript:
        events, unread = read_events(finished.stdout, _Event)
        started = [
            event.tool_call
            for event in events
            if event.type == "tool_call" and event.subtype == "started" and event.tool_call
        ]
        result = next((event for event in reversed(events) if event.type == "result"), None)
        said = [e.message.plain() for e in events if e.type == "assistant" and e.message]
        return Transcript(
            ask_calls=sum(call.asks() for call in started),
            tool_calls=len(started),
            turns=None,
            input_tokens=None,
            output_tokens=None,
            cost_usd=None,
            model=next((e.model for e in events if e.subtype == "init"), None),
            version=None,
            final_text=(result.result if result else None) or (said[-1] if said else ""),
            offered=None,
            own_asks=None,
            denied=None,
            lost=None,
            unread_lines=unread,
            failure=_failure(finished, events, result),
        )


def _failure(finished: Finished, events: Sequence[_Event], result: _Event | None) -> Failure | None:
    if result is not None and not result.is_error and finished.exit_status == 0:
        return None
    told = (result.result or result.subtype or "") if result else ""
    return failure_of(told or finished.complaint())


CURSOR = Client(
    name="cursor",
    title="Cursor",
    registration=_Registration(),
    headless=_Headless(),
)
