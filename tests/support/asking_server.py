"""The smallest MCP server with an `ask_human` tool: over stdio, or `--http` on a free port.

It answers every question with `ANSWER` and writes the questions, one JSON string a line, to the
file named first on its command line. Over HTTP the first line that it prints is its address.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import uvicorn
from mcp.server import MCPServer
from mcp.types import ToolAnnotations

ANSWER = "Use the fiscal year."


def build(log_path: Path) -> MCPServer:
    """The server, with its one tool."""
    server = MCPServer("hil")

    @server.tool(
        description="Ask the human a question.",
        annotations=ToolAnnotations(read_only_hint=True),
        structured_output=False,
    )
    def ask_human(question: str) -> str:  # pyright: ignore[reportUnusedFunction]  # registered
        with log_path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(question) + "\n")
        return ANSWER

    return server


def main() -> None:
    """Serve until stopped."""
    server = build(Path(sys.argv[1]))
    if "--http" not in sys.argv:
        server.run("stdio")
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        app = server.streamable_http_app(stateless_http=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
