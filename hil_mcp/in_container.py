"""The commands that put an agent into a task's own container, with the server outside.

For agents that bring a shell and an editor of their own. Nothing is run here: the person who types
the commands sees what each is for.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from clients.client import HttpServer, Places
from clients.config_file import ConfigFiles
from hil_mcp.settings import TOKEN_VARIABLE

if TYPE_CHECKING:
    from clients.client import Client
    from hil_mcp.modes import Mode

DEFAULT_URL = "http://172.17.0.1:8765/mcp"
"""Where containers on Docker's default network reach the machine that they run on."""
# A folder that no agent's configuration is in; it stands for the home folder in the container.
_HOME = Path("/home-of-the-container")


def commands_for(client: Client, server_name: str, *, task: str, mode: Mode, url: str) -> list[str]:
    """The commands, in order, for a shell on the machine that runs Docker.

    Args:
        client: The agent.
        server_name: The server's name in the agent.
        task: Id of the task.
        mode: What the agent gets.
        url: The server's address as the container sees it.
    """
    places = Places(home=_HOME, project=Path("/app"), platform="linux")
    target = client.registration.target("user", places)
    entry = client.registration.entry(HttpServer(url=url, token_variable=TOKEN_VARIABLE))
    change = ConfigFiles(_HOME / "kept").plan_server(target, server_name, entry)
    content = (change.after or b"").decode().rstrip("\n")
    inside = PurePosixPath(target.path).relative_to(PurePosixPath(_HOME))
    folder = "" if inside.parent == PurePosixPath() else f'mkdir -p ~/"{inside.parent}" && '
    address = url.removeprefix("http://").partition("/")[0]
    return [
        "# The server, in a terminal of its own. It starts the task's container in a network.",
        "umask 077 && python3 -c 'import secrets; print(secrets.token_hex(32))' >token",
        f"HIL_MCP_SANDBOX_NETWORK=bridge hil-mcp serve --task {task} --mode {mode.value} "
        f"--sandbox docker --http {address} --token-file token",
        "# In another terminal: the container, the agent's configuration, the agent.",
        "box=$(docker ps --quiet --filter label=hil-mcp.session | head -n 1)",
        f"docker exec -i $box sh -c '{folder}cat >~/\"{inside}\"' <<'END'\n{content}\nEND",
        f"{TOKEN_VARIABLE}=$(cat token) docker exec -it -e {TOKEN_VARIABLE} $box sh",
        "# In the container: install the agent as its makers say, and start it in /app. An image "
        "with musl (ls /lib/ld-musl-*) needs its packages: apk add nodejs npm libgcc libstdc++ "
        "ripgrep.",
    ]
