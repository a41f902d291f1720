"""Errors of hil_mcp, and whose doing each is.

HilMcpError
├── AgentFacingError        the agent's: its text goes to the agent, nothing else does
├── ConfigError             the operator's: usage, settings, unknown ids (exit status 2)
├── DataError               the data's: an unreadable or refused log or file (3)
└── SandboxError            Docker's, a sandbox's (5)
    └── IsolationError      an agent could read what must be kept from it (5)

The lower packages have roots of their own: `task_store.TaskStoreError` (3, an unknown id 2),
`judge.JudgeError` (4) and `clients.ClientError` (5). `hil_mcp.cli.exit_status` maps them all.
"""

from __future__ import annotations


class HilMcpError(Exception):
    """Root of what hil_mcp raises."""


class AgentFacingError(HilMcpError):
    """A call that the agent got wrong. Its message is sent to the agent as an error result."""


class ConfigError(HilMcpError):
    """Wrong usage: settings, an unknown mode or judge, a port in use."""


class DataError(HilMcpError):
    """A file that cannot be read or is refused: names the file, the line and the way out."""


class SandboxError(HilMcpError):
    """A sandbox could not be started or is gone."""


class IsolationError(SandboxError):
    """An agent could get at what must be kept from it: nothing is launched there."""
