"""Visual Studio Code with Copilot: registered only, since it has no run without a person."""

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
    from pathlib import Path


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        folder = places.project / ".vscode" if scope == "project" else _user_folder(places)
        return ConfigTarget(path=folder / "mcp.json", format="json", keys=("servers",))

    def entry(self, server: Server) -> Mapping[str, object]:
        if isinstance(server, StdioServer):
            return {
                "type": "stdio",
                "command": server.command,
                "args": list(server.args),
                "env": dict(server.env),
            }
        entry: dict[str, object] = {"type": "http", "url": server.url}
        if server.token_variable:
            entry["headers"] = {"Authorization": f"Bearer ${{env:{server.token_variable}}}"}
        return entry

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        return (
            f'command palette, "MCP: List Servers": start {SERVER_NAME} and trust it',
            "in Chat, choose Agent and see that ask_human is among its tools",
        )


def _user_folder(places: Places) -> Path:
    home = places.home
    if places.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif places.platform == "win32":
        base = places.folder("APPDATA", home / "AppData" / "Roaming")
    else:
        base = places.folder("XDG_CONFIG_HOME", home / ".config")
    return base / "Code" / "User"


VSCODE = Client(name="vscode", title="VS Code", registration=_Registration())
