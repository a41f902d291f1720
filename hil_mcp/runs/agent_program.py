"""The agent's program: where it is, and which version it says it is."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from clients.errors import ClientError
from clients.process import run_child
from clients.run_client import headless_of
from hil_mcp.settings import find_program, search_path

if TYPE_CHECKING:
    from clients.client import Client

_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_VERSION_LIMIT_S = 60


def agent_program(client: Client, given: Path | None) -> Path:
    """The program of an agent.

    Args:
        client: The agent.
        given: As the user named it; None looks on PATH.

    Raises:
        UnsupportedError: The agent cannot be run without a person.
        ClientError: It is not there.
    """
    headless = headless_of(client)
    if given is not None:
        if not given.is_file():
            raise ClientError(f"--program {given}: there is no such file")
        return given.absolute()
    found = find_program(headless.program)
    if found is None:
        raise ClientError(
            f"{headless.program} is not on PATH: install {client.title}, or name it with --program"
        )
    return Path(found)


async def agent_version(client: Client, program: Path) -> str | None:
    """What the program says of its version; None when that is no version.

    Raises:
        ClientError: It does not start.
    """
    with TemporaryDirectory(prefix="hil-mcp-") as home:
        try:
            result = await run_child(
                [str(program), "--version"],
                env={"PATH": search_path(), "HOME": home},
                timeout_s=_VERSION_LIMIT_S,
                limit_bytes=100_000,
            )
        except OSError as exc:
            raise ClientError(f"{program}: cannot be started: {exc.strerror}") from exc
    if result.status != 0:
        said = result.stderr.data.decode(errors="replace").strip()
        raise ClientError(f"{client.title}: {program} --version fails: {said}")
    found = _VERSION.search(result.stdout.data.decode(errors="replace"))
    return found[0] if found else None
