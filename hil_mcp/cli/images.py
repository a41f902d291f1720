"""Images of tasks in Docker: loaded after a fetch, removed by a prune."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from hil_mcp.cli.output import remark
from hil_mcp.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from hil_mcp.cli.batch import Batch
    from hil_mcp.sandbox.docker import DockerDaemon
    from hil_mcp.settings import Settings
    from task_store.store import TaskStore


def load_images(archives: dict[str, Path], settings: Settings, batch: Batch) -> tuple[str, ...]:
    """Load fetched image archives into Docker, where it does not have them yet.

    Without Docker that is no failure: the archives are here, and serving loads them.

    Args:
        archives: Tag that each archive brings -> the archive.
        settings: Where Docker is.
        batch: Takes the failures.

    Returns:
        The tags that Docker has now.
    """
    import anyio

    from hil_mcp.sandbox.images import ensure_image

    if not archives:
        return ()
    there: list[str] = []
    with _docker(settings) as daemon:
        if daemon is None:
            remark("the images were not loaded; they are when a task is served")
            return ()
        for tag, archive in archives.items():
            try:
                anyio.run(ensure_image, daemon, tag, archive)
                there.append(tag)
            except SandboxError as exc:
                batch.failed(exc)
    return tuple(there)


def prune_unused_images(settings: Settings, store: TaskStore) -> tuple[str, ...]:
    """Remove the release's images that no task names any more; the tags that were removed."""
    from hil_mcp.sandbox.images import prune_images

    with _docker(settings) as daemon:
        if daemon is None:
            return ()
        return prune_images(daemon, store.image_tags())


@contextmanager
def _docker(settings: Settings) -> Generator[DockerDaemon | None]:
    """The daemon, or None where none answers, which is said."""
    from hil_mcp.sandbox.docker import DockerDaemon

    try:
        daemon = DockerDaemon(settings.docker_host)
    except SandboxError as exc:
        remark(str(exc))
        yield None
        return
    try:
        yield daemon
    finally:
        daemon.close()
