"""`run_command`: a shell command in the repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.errors import AgentFacingError
from hil_mcp.repository.history_probe import history_flags
from hil_mcp.tools.outcome import told
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.repository.jobs import Jobs

WAIT_S = 35.0
"""How long a reply waits for a command; within the 40 s of any reply."""
DEFAULT_TIMEOUT_S = 600
LONGEST_TIMEOUT_S = 3600
# Agents write for bash; small images have only sh.
_SHELL = 'if command -v bash >/dev/null; then exec bash -c "$1"; else exec sh -c "$1"; fi'


def run_command(jobs: Jobs, *, wait_s: float = WAIT_S) -> Tool:
    """The tool that runs a command.

    Args:
        jobs: The session's commands.
        wait_s: How long a reply waits for the command to end.
    """

    async def run(arguments: Arguments) -> str:
        command = arguments.text("command")
        timeout_s = arguments.integer("timeout_s", DEFAULT_TIMEOUT_S)
        if not command.strip() or "\0" in command:
            raise AgentFacingError("Error: 'command' is empty or holds a NUL character.")
        if not 1 <= timeout_s <= LONGEST_TIMEOUT_S:
            raise AgentFacingError(f"Error: 'timeout_s' must be between 1 and {LONGEST_TIMEOUT_S}.")
        job = await jobs.start(["sh", "-c", _SHELL, "sh", command], timeout_s=timeout_s)
        await job.wait(0 if arguments.flag("background") else wait_s)
        return job.report()

    return Tool(
        name="run_command",
        description=(
            "Run a shell command in the repository. There is no stdin. A command that takes "
            f"longer than {wait_s:.0f} s goes on as a job that command_output reads; what a "
            "command leaves in the background ends with it."
        ),
        parameters=(
            Parameter(name="command", description="Command line for the shell."),
            Parameter(
                name="timeout_s",
                description=f"When it is killed, in seconds. Default: {DEFAULT_TIMEOUT_S}.",
                type="integer",
                required=False,
            ),
            Parameter(
                name="background",
                description="Reply at once and let the command go on as a job.",
                type="boolean",
                required=False,
            ),
        ),
        handler=told(run),
        read_only=False,
        flags=lambda given: history_flags(str(given.get("command", ""))),
    )
