"""What is written for each agent, against the shape that its documentation gives.

The agents that can be run here are also asked themselves, in tests/e2e.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsonschema
import pytest

from clients.client import HttpServer, Places, Scope, StdioServer
from clients.errors import UnknownClientError, UnsupportedError
from clients.table import CLIENTS, find_client

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STDIO = StdioServer(command="/opt/python", args=("-m", "hil_mcp"), env={"HIL_MCP_HOME": "/h"})
HTTP = HttpServer(url="http://127.0.0.1:1/mcp", token_variable="HIL_MCP_TOKEN")

_TEXT: dict[str, object] = {"type": "string", "minLength": 1}
_TEXTS: dict[str, object] = {"type": "array", "items": _TEXT}
_STRINGS: dict[str, object] = {"type": "object", "additionalProperties": {"type": "string"}}
_BOOLEAN: dict[str, object] = {"type": "boolean"}
_MILLISECONDS: dict[str, object] = {"type": "integer", "minimum": 1000}
_STDIO_PARTS = {"command": _TEXT, "args": _TEXTS, "env": _STRINGS}
_CODEX = {
    "required": _BOOLEAN,
    "startup_timeout_sec": {"type": "number"},
    "tool_timeout_sec": {"type": "number"},
    "default_tools_approval_mode": {"enum": ["auto", "prompt", "approve"]},
}
_GEMINI = {"timeout": _MILLISECONDS, "trust": _BOOLEAN}
_QWEN = {**_GEMINI, "alwaysLoadTools": _BOOLEAN}
_CLAUDE = {"alwaysLoad": _BOOLEAN, "timeout": _MILLISECONDS}
_OPENCODE = {"enabled": _BOOLEAN, "timeout": _MILLISECONDS}
_HEADERS = {"url": _TEXT, "headers": _STRINGS}


def _object(needed: tuple[str, ...], properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "required": list(needed),
        "properties": dict(properties),
        "additionalProperties": False,
    }


# For each agent the two shapes of an entry: a server that it starts, and one that it connects to.
STDIO_SHAPES = {
    "claude-code": _object(
        ("type", "command"), {"type": {"const": "stdio"}, **_STDIO_PARTS, **_CLAUDE}
    ),
    "codex": _object(("command", "required"), {**_STDIO_PARTS, **_CODEX}),
    "cursor": _object(("command",), _STDIO_PARTS),
    "gemini": _object(("command",), {**_STDIO_PARTS, **_GEMINI}),
    "opencode": _object(
        ("type", "command"),
        {"type": {"const": "local"}, "command": _TEXTS, "environment": _STRINGS, **_OPENCODE},
    ),
    "qwen-code": _object(("command", "alwaysLoadTools"), {**_STDIO_PARTS, **_QWEN}),
    "vscode": _object(("type", "command"), {"type": {"const": "stdio"}, **_STDIO_PARTS}),
    "copilot": _object(
        ("type", "command", "tools"), {"type": {"const": "local"}, "tools": _TEXTS, **_STDIO_PARTS}
    ),
    "claude-desktop": _object(("command",), _STDIO_PARTS),
}
HTTP_SHAPES = {
    "claude-code": _object(("type", "url"), {"type": {"const": "http"}, **_HEADERS, **_CLAUDE}),
    "codex": _object(("url", "required"), {"url": _TEXT, "bearer_token_env_var": _TEXT, **_CODEX}),
    "cursor": _object(("url",), _HEADERS),
    "gemini": _object(("httpUrl",), {"httpUrl": _TEXT, "headers": _STRINGS, **_GEMINI}),
    "opencode": _object(
        ("type", "url"),
        {"type": {"const": "remote"}, "oauth": {"const": False}, **_HEADERS, **_OPENCODE},
    ),
    "qwen-code": _object(("httpUrl",), {"httpUrl": _TEXT, "headers": _STRINGS, **_QWEN}),
    "vscode": _object(("type", "url"), {"type": {"const": "http"}, **_HEADERS}),
    "copilot": _object(
        ("type", "url", "tools"), {"type": {"const": "http"}, "tools": _TEXTS, **_HEADERS}
    ),
}

# How each agent names a variable of its environment in a header.
BEARERS = {
    "claude-code": "Bearer ${HIL_MCP_TOKEN}",
    "cursor": "Bearer ${env:HIL_MCP_TOKEN}",
    "gemini": "Bearer $HIL_MCP_TOKEN",
    "opencode": "Bearer {env:HIL_MCP_TOKEN}",
    "qwen-code": "Bearer $HIL_MCP_TOKEN",
    "vscode": "Bearer ${env:HIL_MCP_TOKEN}",
    "copilot": "Bearer ${HIL_MCP_TOKEN}",
}

# (agent, scope, platform) -> the file, from the home folder or from the project.
FILES: dict[tuple[str, Scope, str], str] = {
    ("claude-code", "user", "linux"): "home/.claude.json",
    ("claude-code", "project", "linux"): "project/.mcp.json",
    ("codex", "user", "linux"): "home/.codex/config.toml",
    ("codex", "project", "linux"): "project/.codex/config.toml",
    ("cursor", "user", "darwin"): "home/.cursor/mcp.json",
    ("cursor", "project", "linux"): "project/.cursor/mcp.json",
    ("gemini", "user", "linux"): "home/.gemini/settings.json",
    ("gemini", "project", "linux"): "project/.gemini/settings.json",
    ("opencode", "user", "linux"): "home/.config/opencode/opencode.json",
    ("opencode", "project", "linux"): "project/opencode.json",
    ("qwen-code", "user", "linux"): "home/.qwen/settings.json",
    ("qwen-code", "project", "linux"): "project/.qwen/settings.json",
    ("vscode", "user", "linux"): "home/.config/Code/User/mcp.json",
    ("vscode", "user", "darwin"): "home/Library/Application Support/Code/User/mcp.json",
    ("vscode", "user", "win32"): "home/AppData/Roaming/Code/User/mcp.json",
    ("vscode", "project", "linux"): "project/.vscode/mcp.json",
    ("copilot", "user", "linux"): "home/.copilot/mcp-config.json",
    ("copilot", "project", "linux"): "project/.mcp.json",
    ("claude-desktop", "user", "linux"): "home/.config/Claude/claude_desktop_config.json",
    ("claude-desktop", "user", "darwin"): (
        "home/Library/Application Support/Claude/claude_desktop_config.json"
    ),
    ("claude-desktop", "user", "win32"): ("home/AppData/Roaming/Claude/claude_desktop_config.json"),
}

NAMES = [client.name for client in CLIENTS]


def _places(tmp_path: Path, platform: str = "linux", **variables: str) -> Places:
    home, project = tmp_path / "home", tmp_path / "project"
    return Places(home=home, project=project, platform=platform, variables=variables)


@pytest.mark.parametrize("name", NAMES)
def test_a_server_to_start_has_the_documented_shape(name: str) -> None:
    entry = find_client(name).registration.entry(STDIO)

    jsonschema.validate(entry, STDIO_SHAPES[name])


@pytest.mark.parametrize("name", HTTP_SHAPES)
def test_a_running_server_has_the_documented_shape(name: str) -> None:
    entry = find_client(name).registration.entry(HTTP)

    jsonschema.validate(entry, HTTP_SHAPES[name])
    if name == "codex":
        assert entry["bearer_token_env_var"] == "HIL_MCP_TOKEN"
    else:
        assert entry["headers"] == {"Authorization": BEARERS[name]}


@pytest.mark.parametrize("name", HTTP_SHAPES)
def test_a_server_without_a_token_gets_no_header(name: str) -> None:
    entry = find_client(name).registration.entry(HttpServer(url=HTTP.url))

    assert {"headers", "bearer_token_env_var"} & set(entry) == set()


def test_claude_desktop_takes_no_running_server() -> None:
    with pytest.raises(UnsupportedError, match="leave --http out"):
        find_client("claude-desktop").registration.entry(HTTP)


@pytest.mark.parametrize(("key", "file"), FILES.items(), ids=["-".join(key) for key in FILES])
def test_an_entry_goes_where_the_agent_looks(
    key: tuple[str, Scope, str], file: str, tmp_path: Path
) -> None:
    name, scope, platform = key

    target = find_client(name).registration.target(scope, _places(tmp_path, platform))

    assert target.path == tmp_path / file
    assert target.format == target.path.suffix[1:]


@pytest.mark.parametrize(
    ("name", "variable", "file"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("copilot", "COPILOT_HOME", "mcp-config.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
    ],
)
def test_a_folder_that_the_user_has_moved_is_found(
    name: str, variable: str, file: str, tmp_path: Path
) -> None:
    places = _places(tmp_path, **{variable: str(tmp_path / "moved")})

    target = find_client(name).registration.target("user", places)

    assert target.path == tmp_path / "moved" / file


def test_opencodes_commented_file_is_used_where_it_stands_alone(tmp_path: Path) -> None:
    places = _places(tmp_path)
    places.project.mkdir()
    (places.project / "opencode.jsonc").touch()
    registration = find_client("opencode").registration

    assert registration.target("project", places).path.name == "opencode.jsonc"
    (places.project / "opencode.json").touch()
    assert registration.target("project", places).path.name == "opencode.json"


@pytest.mark.parametrize("name", NAMES)
def test_every_agent_has_a_next_step(name: str) -> None:
    for scope in ("user", "project"):
        assert find_client(name).registration.next_steps(scope)


def test_an_unknown_agent_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(UnknownClientError, match="claude-code, codex, cursor"):
        find_client("emacs")
