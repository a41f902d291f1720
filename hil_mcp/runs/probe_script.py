"""What the probe does as the agent: try to read, to reach, and to call the session.

Given to an interpreter inside a cell as text, for the package itself must not be seen there: the
standard library only, and nothing of ours. One request in on stdin, one report out on stdout, both
JSON (`hil_mcp.runs.probe`).
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_CALL_LIMIT_S = 20.0
# Addresses for documentation (RFC 5737, RFC 3849): to look for a route to them sends nothing.
_FAR_AWAY = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def can_read(path: Path, identity: list[int]) -> bool:
    """Whether the file or folder that the runner means can be read here."""
    try:
        found = path.stat()
        if [found.st_dev, found.st_ino] != identity:
            return False  # something else is in its place
        if path.is_dir():
            next(path.iterdir(), None)
        else:
            with path.open("rb") as file:
                file.read(1)
    except OSError:
        return False
    return True


def readable_process(pid: int, started: str) -> list[str]:
    """What of the runner's process can be read here."""
    folder = Path("/proc", str(pid))
    try:
        # The start time tells it from another process with this number; proc_pid_stat(5).
        if (folder / "stat").read_text().rpartition(")")[2].split()[19] != started:
            return []
    except (OSError, IndexError):
        return []
    found: list[str] = []
    with suppress(OSError):
        if (folder / "environ").read_bytes():
            found.append(f"{folder}/environ")
    with suppress(OSError), (folder / "mem").open("rb"):
        found.append(f"{folder}/mem")
    with suppress(OSError):
        if next((folder / "root").iterdir(), None):
            found.append(f"{folder}/root")
    return found


def knock(port: int, name: str, word: str) -> None:
    """Say the word to the runner's listeners, if they can be reached; the runner listens."""
    ways = ((socket.AF_INET, ("127.0.0.1", port)), (socket.AF_UNIX, f"\0{name}"))
    for family, address in ways:
        with suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as caller:
            caller.settimeout(2)
            caller.connect(address)
            caller.sendall(word.encode())


def has_route() -> bool:
    """Whether this network leads anywhere beyond the machine."""
    for family, address in _FAR_AWAY:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as caller:
            caller.connect((address, 9))
            return True
    return False


def can_connect(path: str) -> bool:
    """Whether a Unix socket answers here."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(2)
        caller.connect(path)
        return True
    return False


def model_error(address: list[Any] | None) -> str | None:
    """Why the model's address cannot be reached, if so."""
    if address is None:
        return None
    try:
        socket.create_connection((address[0], address[1]), timeout=_CALL_LIMIT_S).close()
    except OSError as exc:
        return str(exc)
    return None


class Session:
    """The few calls of the protocol that show whether an agent would get its tools."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._path = parts.path or "/"
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def tools(self) -> list[str]:
        """The names of the tools that are offered.

        Raises:
            OSError: Nothing answers.
            ValueError: The answer is an error, or none of the protocol's.
        """
        started = self._call(
            1,
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "hil-mcp-probe", "version": "1"},
            },
        )
        self._headers["MCP-Protocol-Version"] = str(started["protocolVersion"])
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return [str(tool["name"]) for tool in self._call(2, "tools/list", {})["tools"]]

    def _call(self, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = self._post({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        # A reply comes as JSON, or as the data of an event stream.
        lines = [line.removeprefix("data:") for line in body.splitlines()]
        for line in [body, *lines]:
            with suppress(ValueError):
                reply = json.loads(line)
                if isinstance(reply, dict) and reply.get("id") == number:  # pyright: ignore[reportUnknownMemberType]
                    if "result" not in reply:
                        raise LookupError(f"{method}: {json.dumps(reply.get('error'))[:500]}")  # pyright: ignore[reportUnknownMemberType]
                    return reply["result"]  # pyright: ignore[reportUnknownVariableType]
        raise LookupError(f"{method}: no answer of the protocol's: {body[:200]}")

    def _post(self, message: dict[str, Any]) -> str:
        connection = http.client.HTTPConnection(*self._address, timeout=_CALL_LIMIT_S)
        try:
            connection.request("POST", self._path, json.dumps(message), self._headers)
            answer = connection.getresponse()
            body = answer.read().decode(errors="replace")
        finally:
            connection.close()
        if answer.status >= 400:
            raise LookupError(f"HTTP {answer.status}: {body[:200]}")
        if name := answer.getheader("Mcp-Session-Id"):
            self._headers["Mcp-Session-Id"] = name
        return body


def main() -> None:
    """Read the request, try everything, write the report."""
    request = json.load(sys.stdin)
    readable: dict[str, str] = {}
    for top, path, identity in request["paths"]:
        if top not in readable and can_read(Path(path), identity):
            readable[top] = path
    knock(request["port"], request["name"], request["word"])
    tools: list[str] | None = None
    session_error: str | None = None
    try:
        tools = Session(request["session_url"], request["token"]).tools()
    except (OSError, LookupError, TypeError, http.client.HTTPException) as exc:
        session_error = f"{type(exc).__name__}: {exc}"
    report = {
        "readable": [
            *readable.values(),
            *readable_process(request["pid"], request["started"]),
            *(path for path in request["sockets"] if can_connect(path)),
        ],
        "has_route": has_route(),
        "tools": tools,
        "session_error": session_error,
        "model_error": model_error(request["model"]),
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
