"""`command_output`: what a command that goes on as a job has written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.errors import AgentFacingError
from hil_mcp.tools.outcome import told
from hil_mcp.tools.run_command import WAIT_S
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.repository.jobs import Jobs


def command_output(jobs: Jobs) -> Tool:
    """The tool that looks at a job, waits for it or stops it."""

    async def run(arguments: Arguments) -> str:
        wait_s = arguments.integer("wait_s", 0)
        if not 0 <= wait_s <= WAIT_S:
            raise AgentFacingError(f"Error: 'wait_s' must be between 0 and {WAIT_S:.0f}.")
        job = jobs.get(arguments.integer("job", 0))
        if arguments.flag("stop") and job.is_running:
            await job.stop()
        await job.wait(wait_s)
        return job.report()

    return Tool(
        name="command_output",
        description="Read the output of a command that goes on as a job, or stop it.",
        parameters=(
            Parameter(name="job", description="The job's number.", type="integer"),
            Parameter(
                name="wait_s",
                description=f"Wait for its end, at most {WAIT_S:.0f} seconds. Default: 0.",
                type="integer",
                required=False,
            ),
            Parameter(name="stop", description="Kill it.", type="boolean", required=False),
        ),
        handler=told(run),
    )
