"""GitHub Copilot CLI: registered only; its headless output is text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients.client import (
    SERVER_NAME,
    Client,
    ConfigTarget,
    Places,
    Scope,
    Server,
    StdioServer,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        if scope == "user":
            folder = places.folder("COPILOT_HOME", places.home / ".copilot")
            path = folder / "mcp-config.json"
        else:
            path = places.project / ".mcp.json"
        return ConfigTarget(path=path, format="json", keys=("mcpServers",))

    def entry(self, server: Server) -> Mapping[str, object]:
        # Without `tools` the server is there and none of its tools is.
        tools = {"tools": ["*"]}
        if isinstance(server, StdioServer):
            return {
                "type": "local",
                "command": server.command,
                "args": list(server.args),
                "env": dict(server.env),
                **tools,
            }
        entry: dict[str, object] = {"type": "http", "url": server.url}
        if server.token_variable:
            entry["headers"] = {"Authorization": f"Bearer ${{{server.token_variable}}}"}
        return {**entry, **tools}

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        steps = [f"copilot, then /mcp show {SERVER_NAME}    shows whether the server answers"]
        if scope == "project":
            steps.append(
                "with -p it skips .mcp.json: add --additional-mcp-config @.mcp.json "
                "--allow-all-tools --no-ask-user"
            )
        return tuple(steps)


COPILOT = Client(name="copilot", title="Copilot CLI", registration=_Registration())
