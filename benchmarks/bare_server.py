"""A bare SDK server with one tool, written as the SDK's own documentation does: the yardstick.

Over stdio, or over stateless HTTP on the port that is its argument.
"""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("bare", log_level="WARNING")


@server.tool(structured_output=False)
async def ask_human(question: str) -> str:
    """Ask one question."""
    return f"answer to {len(question)} characters"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]), stateless_http=True)
    else:
        server.run("stdio")
