"""Whether a sandbox that started can be used: something is run in it before an agent gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.errors import SandboxError

if TYPE_CHECKING:
    from hil_mcp.sandbox.sandbox import Sandbox

_START_TIMEOUT_S = 20.0
_PROBE = (
    'pwd -P; command -v git >/dev/null && echo "git $(git --version)"; : > "$(mktemp)" && echo ok'
)


async def check_health(sandbox: Sandbox, *, name: str) -> None:
    """Run a probe: the shell, git, the working folder and a writable temporary file.

    Args:
        sandbox: The sandbox.
        name: What the error calls it.

    Raises:
        SandboxError: Names what is missing.
    """
    result = await sandbox.exec(
        ["sh", "-c", _PROBE], timeout_s=_START_TIMEOUT_S, limit_bytes=10_000
    )
    lines = result.text.splitlines()
    if "ok" not in lines:
        raise SandboxError(
            f"sandbox {name} started but runs nothing (status {result.status}): {result.error_text}"
        )
    if not any(line.startswith("git ") for line in lines):
        raise SandboxError(f"sandbox {name} has no git: the repository tools need it")
