"""The MCP tools: one module for each."""
