"""Claude Desktop: registered only. Its file holds servers that it starts itself, no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients.client import Client, ConfigTarget, Places, Scope, Server, StdioServer
from clients.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class _Registration:
    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        if scope == "project":
            raise UnsupportedError("Claude Desktop has no project scope: use --scope user")
        path = _folder(places) / "claude_desktop_config.json"
        return ConfigTarget(path=path, format="json", keys=("mcpServers",))

    def entry(self, server: Server) -> Mapping[str, object]:
        if not isinstance(server, StdioServer):
            raise UnsupportedError(
                "Claude Desktop's file takes no server by address: leave --http out"
            )
        return {"command": server.command, "args": list(server.args), "env": dict(server.env)}

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        return (
            "quit Claude Desktop and start it again",
            "Settings, Developer shows whether the server runs, and its log",
        )


def _folder(places: Places) -> Path:
    home = places.home
    if places.platform == "darwin":
        return home / "Library" / "Application Support" / "Claude"
    if places.platform == "win32":
        return places.folder("APPDATA", home / "AppData" / "Roaming") / "Claude"
    return places.folder("XDG_CONFIG_HOME", home / ".config") / "Claude"


CLAUDE_DESKTOP = Client(name="claude-desktop", title="Claude Desktop", registration=_Registration())
