"""What can go wrong with a repository: git fails, or a file is not what the agent thinks."""

from __future__ import annotations

from hil_mcp.errors import HilMcpError, SandboxError


class GitError(SandboxError):
    """A git command that must not fail did; names the step and git's own words."""


class RefusedError(HilMcpError):
    """What an agent asked of a file cannot be done; the text is for the agent."""
