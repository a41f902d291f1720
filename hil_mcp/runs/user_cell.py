"""`user`: the agent runs as another user of this machine. Files are kept from it, no more.

Network, processes and whatever all users may read are open to it. Attempts that run as the same
user at the same time can read each other's files.
"""

from __future__ import annotations

import os
import pwd
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError, SandboxError
from hil_mcp.runs.cell import CELL_VARIABLE
from hil_mcp.runs.cell_folder import host_listener, open_folder, why_it_fails
from hil_mcp.settings import find_program

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

# What the runner has written into the folders since becomes the agent's. Not a file with a second
# name: it may be a link that the agent made to somebody else's. Root runs this: programs are
# named by their paths, not looked up in the agent's PATH.
_HAND_OVER = (
    '"$1" "$3" "$4" -xdev -user 0 \\( -type d -o -links 1 \\) -exec "$2" -h "$5" {} + &&'
    ' shift 5 && exec "$@"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCell:
    """Keeps the contract of `Cell` with the rights of another user."""

    home: Path
    workspace: Path
    session_listener: socket.socket
    model_listener: socket.socket
    hand_over: tuple[str, ...]
    """Makes the agent the owner of what is in its folders, before a command."""
    prefix: tuple[str, ...]

    def command(self, command: Sequence[str]) -> list[str]:
        """See `Cell.command`."""
        return [*self.hand_over, *self.prefix, *command]


@asynccontextmanager
async def open_user_cell(folder: Path, *, marker: str, user: str) -> AsyncGenerator[UserCell]:
    """Open a cell whose commands run as `user`.

    Raises:
        ConfigError: This process is not root's, or there is no such user, or it is root.
        SandboxError: The user cannot reach the folder.
    """
    account = _account(user)
    setpriv, find, chown = (_needed_program(name) for name in ("setpriv", "find", "chown"))
    async with open_folder(folder, marker=marker) as made:
        made.root.chmod(0o711)
        with host_listener() as session, host_listener() as model:
            cell = UserCell(
                home=made.home,
                workspace=made.workspace,
                session_listener=session,
                model_listener=model,
                hand_over=(
                    *("/bin/sh", "-c", _HAND_OVER, "sh", find, chown),
                    *(str(made.home), str(made.workspace)),
                    f"{account.pw_uid}:{account.pw_gid}",
                ),
                prefix=(
                    setpriv,
                    f"--reuid={account.pw_uid}",
                    f"--regid={account.pw_gid}",
                    "--init-groups",
                    "--no-new-privs",
                    "--inh-caps=-all",
                    "--bounding-set=-all",
                    "--",
                    "/usr/bin/env",
                    f"{CELL_VARIABLE}={marker}",
                ),
            )
            await _check(cell, user)
            yield cell


def _needed_program(name: str) -> str:
    found = find_program(name)
    if found is None:
        raise SandboxError(f"isolation user needs the program {name!r}: install it")
    return found


def _account(user: str) -> pwd.struct_passwd:
    if os.geteuid() != 0:
        raise ConfigError("isolation user needs root, to run agents as another user")
    try:
        account = pwd.getpwnam(user)
    except KeyError as exc:
        raise ConfigError(f"isolation user: this machine has no user {user!r}") from exc
    if account.pw_uid == 0:
        raise ConfigError(f"isolation user: {user!r} is root, from whom nothing can be kept")
    return account


async def _check(cell: UserCell, user: str) -> None:
    command = ["/bin/sh", "-c", 'cd "$1" && : >file && rm file', "sh", str(cell.home)]
    reason = await why_it_fails(cell.command(command), cwd=cell.workspace, env={"PATH": os.defpath})
    if reason is not None:
        raise SandboxError(
            f"user {user} cannot work in {cell.home}: {reason}; choose a folder for the run whose "
            "parents that user may enter"
        )
