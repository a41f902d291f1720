"""The contract of a sandbox. Three classes keep it: local, bubblewrap and docker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SandboxKind = Literal["docker", "bubblewrap", "local"]
SANDBOX_KINDS: tuple[SandboxKind, ...] = ("docker", "bubblewrap", "local")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """How one command ended. A non-zero status is a result, not an error."""

    status: int
    """Exit status in [0, 255]; 128 and the signal's number when a signal ended it."""
    stdout: bytes
    """The first `limit_bytes` of it."""
    stderr: bytes
    truncated: bool
    """One of the two streams was longer than the limit."""

    @property
    def text(self) -> str:
        """Stdout as UTF-8, with replacement."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def error_text(self) -> str:
        """Stderr as UTF-8, with replacement, without outer white space."""
        return self.stderr.decode("utf-8", "replace").strip()


class Sandbox(Protocol):
    """One running copy of a task's repository, owned by one session and closed by its opener.

    Commands may run at the same time. They see the same files and, but for `local`, nothing of
    this machine that could tell the task's answers.
    """

    @property
    def working_dir(self) -> str:
        """Absolute path of the repository as commands see it."""
        ...

    async def exec(
        self,
        command: Sequence[str],
        *,
        timeout_s: float,
        limit_bytes: int,
        stdin: bytes = b"",
        on_stdout: Callable[[bytes], None] | None = None,
    ) -> ExecResult:
        """Run one command in `working_dir` and wait for it.

        What the command has left running when it ends is killed; so it is when the caller is
        cancelled.

        Args:
            command: Program and arguments; no shell reads them. A program that is not there ends
                with status 127.
            timeout_s: Longest run, in seconds, above 0.
            limit_bytes: Cap on each of stdout and stderr; what goes beyond is read and dropped.
            stdin: Written to the command's stdin, which is then closed.
            on_stdout: Gets all of stdout as it comes, beyond the limit too; may be called from
                another thread.

        Raises:
            SandboxTimeoutError: `timeout_s` passed; the command has been killed.
            SandboxGoneError: The sandbox no longer runs; a SandboxLimitError when what ran in it
                is to blame.
        """
        ...
