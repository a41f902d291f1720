"""A bare SDK server with one tool, written as the SDK's own documentation does: the yardstick."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("bare")


@server.tool(structured_output=False)
async def ask_human(question: str) -> str:
    """Ask one question."""
    return f"answer to {len(question)} characters"


if __name__ == "__main__":
    server.run("stdio")
