"""The `hil-mcp` command: one module for each subcommand."""
