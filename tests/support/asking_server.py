"""The smallest MCP server with an `ask_human` tool, over stdio.

It answers every question with `ANSWER` and writes the questions, one JSON string a line, to the
file that its command line names. At the question `DEADLY` it dies without an answer.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

ANSWER = "Use the fiscal year."
DEADLY = "Are you there?"


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
        if question == DEADLY:
            os._exit(1)
        return ANSWER

    return server


if __name__ == "__main__":
    build(Path(sys.argv[1])).run("stdio")
