"""Programs that make files which are committed; none of them runs when hil-mcp does."""
