"""Image archives: loaded into Docker when a task needs them, and removed when none does."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.from_thread
import anyio.to_thread

from clients.process import start_child
from hil_mcp.errors import SandboxError
from hil_mcp.settings import child_environment, find_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clients.process import Child
    from hil_mcp.sandbox.docker import DockerDaemon

_RELEASED_REPOSITORY = "hilbench-swe"
_ROOM_FACTOR = 4
"""Bytes that an image takes in Docker for each byte of its compressed archive, and some more."""


async def ensure_image(daemon: DockerDaemon, image: str, archive: Path | None) -> None:
    """Load an image from its archive unless Docker has it.

    Args:
        daemon: Where it is wanted.
        image: The tag that the archive must bring.
        archive: `.tar` or `.tar.zst`; None when it is not here.

    Raises:
        SandboxError: It is neither in Docker nor here, does not fit on the disk, cannot be loaded,
            or is another image; names the way out.
    """
    if await anyio.to_thread.run_sync(daemon.image_user, image) is not None:
        return
    if archive is None:
        raise SandboxError(
            f'Docker at {daemon.address} has no image {image}: get it with "hil-mcp tasks fetch"'
        )
    await anyio.to_thread.run_sync(_check_room, daemon, archive)
    loaded = await _load(daemon, archive)
    if await anyio.to_thread.run_sync(daemon.image_user, image) is None:
        brought = ", ".join(loaded) or "no tag"
        raise SandboxError(f"{archive}: brings {brought} and not {image}; fetch it anew")


def prune_images(daemon: DockerDaemon, named: set[str]) -> tuple[str, ...]:
    """Remove the release's images that no task names; blocks on the daemon.

    Args:
        daemon: Where they are.
        named: Tags that tasks name.

    Returns:
        The tags that were removed. One that a container still uses stays.
    """
    removed: list[str] = []
    for tag in daemon.image_tags(_RELEASED_REPOSITORY):
        if tag not in named:
            with suppress(SandboxError):
                daemon.remove_image(tag)
                removed.append(tag)
    return tuple(removed)


def _check_room(daemon: DockerDaemon, archive: Path) -> None:
    folder = Path(daemon.storage_dir)
    if not folder.is_dir():  # the daemon runs elsewhere
        return
    needed, free = archive.stat().st_size * _ROOM_FACTOR, shutil.disk_usage(folder).free
    if needed > free:
        raise SandboxError(
            f"{archive}: loading it takes about {needed:,} bytes and {free:,} are free under "
            f"{folder}; 'hil-mcp tasks prune' frees room"
        )


async def _load(daemon: DockerDaemon, archive: Path) -> tuple[str, ...]:
    if archive.suffix != ".zst" and not await anyio.to_thread.run_sync(_is_zstd, archive):
        with archive.open("rb") as file:
            return await anyio.to_thread.run_sync(daemon.load_image, file)
    program = find_program("zstd")
    if program is None:
        raise SandboxError(f"{archive}: needs the program 'zstd' (package zstd) to be unpacked")
    command = [program, "-dcq", "--", str(archive)]
    async with await start_child(command, env=child_environment({}), has_stderr=False) as child:
        loaded = await anyio.to_thread.run_sync(daemon.load_image, _pieces(child))
        status = await child.wait()
    if status != 0:
        raise SandboxError(f"{archive}: is cut short or no zstd archive; fetch it anew")
    return loaded


def _pieces(child: Child) -> Iterator[bytes]:
    """The child's stdout, from a worker thread."""
    while piece := anyio.from_thread.run(child.receive):
        yield piece


def _is_zstd(archive: Path) -> bool:
    # Files in the store are named by their digest.
    with archive.open("rb") as file:
        return file.read(4) == b"\x28\xb5\x2f\xfd"
