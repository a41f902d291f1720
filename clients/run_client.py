"""Run an agent once, without a person, and read what it says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clients.client import Finished
from clients.errors import ClientError, UnsupportedError
from clients.process import run_child

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clients.client import Client, Headless, Job


def headless_of(client: Client) -> Headless:
    """How a client is run without a person.

    Raises:
        UnsupportedError: It cannot be.
    """
    if client.headless is None:
        raise UnsupportedError(f"{client.title} cannot be run without a person")
    return client.headless


def write_files(files: Mapping[Path, str]) -> None:
    """Write the files of a launch, for the owner's eyes only: a configuration may hold a key."""
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)


def link_login(headless: Headless, *, user_home: Path, home: Path) -> None:
    """Make the user's login files seen in a run's home, by links: a login is never copied."""
    for name in headless.login.files:
        if (user_home / name).is_file():
            link = home / name
            link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            link.symlink_to(user_home / name)


async def run_client(
    client: Client, job: Job, *, program: Path, limit_s: float, limit_bytes: int
) -> Finished:
    """Run an agent on a job to its end; nothing of it is left running.

    Args:
        client: The agent.
        job: What it is to do; its home and workspace exist.
        program: The agent's program.
        limit_s: Longest run, in seconds; then its whole process group is killed.
        limit_bytes: Cap on each of stdout and stderr.

    Returns:
        What it left; the exit status is None when its time ran out.

    Raises:
        UnsupportedError: The agent cannot be run without a person.
        ClientError: The program cannot be started.
    """
    launch = headless_of(client).launch(job)
    write_files(launch.files)
    try:
        result = await run_child(
            [str(program), *launch.arguments],
            env=launch.environment,
            timeout_s=limit_s,
            limit_bytes=limit_bytes,
            stdin=launch.stdin.encode(),
            cwd=job.workspace,
        )
    except OSError as exc:
        raise ClientError(f"{program}: cannot be started: {exc.strerror}") from exc
    return Finished(
        exit_status=result.status,
        stdout=result.stdout.data.decode(errors="replace"),
        stderr=result.stderr.data.decode(errors="replace"),
        home=job.home,
    )
