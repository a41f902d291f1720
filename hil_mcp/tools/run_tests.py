"""`run_tests`: the tests that the repository shows to the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.tools.outcome import told
from hil_mcp.tools.run_command import DEFAULT_TIMEOUT_S, WAIT_S
from hil_mcp.tools.tool import Arguments, Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.repository.jobs import Jobs


def run_tests(jobs: Jobs, command: Sequence[str], *, wait_s: float = WAIT_S) -> Tool:
    """The tool that runs the visible tests.

    Args:
        jobs: The session's commands.
        command: The task's own; empty when it names none.
        wait_s: How long a reply waits for the tests to end.
    """

    async def run(_arguments: Arguments) -> str:
        if not command:
            return "This task names no test command; run_command can run the repository's tests."
        job = jobs.start(command, timeout_s=DEFAULT_TIMEOUT_S)
        await job.wait(wait_s)
        return job.report()

    return Tool(
        name="run_tests",
        description=(
            "Run the repository's visible tests. When they take long they go on as a job that "
            "command_output reads."
        ),
        parameters=(),
        handler=told(run),
        read_only=False,
    )
