"""`submit_patch` for an agent that has no repository: it writes the patch itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hil_mcp.repository.errors import RefusedError
from hil_mcp.repository.patch import PATCH_LIMIT_BYTES, why_not_applicable
from hil_mcp.tools.outcome import told
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hil_mcp.repository.base_tree import TreeId
    from hil_mcp.sandbox.sandbox import Sandbox


def submit_patch_text(
    sandbox: Sandbox,
    base: Callable[[], Awaitable[TreeId]],
    submit: Callable[[Literal["patch"], str], Awaitable[None]],
    *,
    close: Callable[[], Awaitable[None]] | None = None,
) -> Tool:
    """The tool that takes a patch in words.

    Args:
        sandbox: Has the repository, which the agent does not see.
        base: Gives the tree that the patch must apply to.
        submit: Writes a submission of a kind down; returns once it is on disk.
        close: As for any tool.
    """

    async def run(arguments: Arguments) -> str:
        patch = arguments.text("patch")
        if len(patch) > PATCH_LIMIT_BYTES:
            raise RefusedError(f"the patch is longer than {PATCH_LIMIT_BYTES:,} bytes")
        if patch and not patch.endswith("\n"):
            patch += "\n"
        problem = await why_not_applicable(sandbox, await base(), patch.encode())
        if problem is not None:
            raise RefusedError(f"nothing was submitted: the patch does not apply: {problem}")
        await submit("patch", patch)
        return "Submission received."

    return Tool(
        name="submit_patch",
        description="Submit a patch in git's diff format. The last submission counts.",
        parameters=(Parameter(name="patch", description="The patch; it must apply."),),
        handler=told(run),
        read_only=False,
        close=close,
    )
