"""What can go wrong with a sandbox while it is used. `SandboxError` itself: it did not start."""

from __future__ import annotations

from hil_mcp.errors import SandboxError


class SandboxTimeoutError(SandboxError):
    """A command's time ran out; it and what it started have been killed.

    Attributes:
        stdout: What it had written, cut like any result.
        stderr: The same for stderr.
    """

    def __init__(self, timeout_s: float, stdout: bytes, stderr: bytes) -> None:
        super().__init__(f"the command was killed after {timeout_s:g} s")
        self.stdout = stdout
        self.stderr = stderr


class SandboxGoneError(SandboxError):
    """The sandbox no longer runs: killed from outside, or its machine failed."""


class SandboxLimitError(SandboxGoneError):
    """The sandbox was stopped because what ran in it went over a limit: the agent's doing."""
