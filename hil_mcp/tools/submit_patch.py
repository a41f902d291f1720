"""`submit_patch`: hands in the working tree as it is, as a patch against the task's base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hil_mcp.repository.errors import GitError, RefusedError
from hil_mcp.repository.patch import LARGE_PATCH_BYTES, Patch, take_patch
from hil_mcp.tools.outcome import told
from hil_mcp.tools.tool import Arguments, Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hil_mcp.repository.base_tree import TreeId
    from hil_mcp.sandbox.sandbox import Sandbox

_NAMES_SHOWN = 10


def submit_patch(
    sandbox: Sandbox,
    base: TreeId,
    submit: Callable[[Literal["patch"], str], Awaitable[None]],
) -> Tool:
    """The tool that ends an agent's work; it may be called again, and the last one counts.

    Args:
        sandbox: Where the agent worked.
        base: The tree it began with.
        submit: Writes a submission of a kind down; returns once it is on disk.
    """

    async def run(_arguments: Arguments) -> str:
        try:
            patch = await take_patch(sandbox, base)
        except GitError as exc:
            raise RefusedError(f"nothing was submitted: {exc}") from exc
        await submit("patch", patch.text)
        return _reply(patch)

    return Tool(
        name="submit_patch",
        description=(
            "Submit the repository as it stands now: all changes since the task began, committed "
            "or not, without ignored files. The last submission counts."
        ),
        parameters=(),
        handler=told(run),
        read_only=False,
    )


def _reply(patch: Patch) -> str:
    if not patch.text:
        lines = ["Submission received: nothing has changed."]
    else:
        lines = [f"Submission received: {len(patch.files)} files, {len(patch.data):,} bytes."]
    if patch.is_large:
        lines.append(f"The patch is longer than {LARGE_PATCH_BYTES:,} bytes.")
    if patch.binary_files:
        lines.append(f"Left out, binary: {_listed(patch.binary_files)}.")
    if patch.generated_files:
        lines.append(f"Left out, generated: {_listed(patch.generated_files)}.")
    return "\n".join(lines)


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
