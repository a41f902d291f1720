"""Which sandbox a repository task gets, and how it is opened with the task's repository in it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from hil_mcp.errors import ConfigError
from hil_mcp.sandbox.bubblewrap import open_bubblewrap
from hil_mcp.sandbox.container import open_docker
from hil_mcp.sandbox.docker import DockerDaemon, DockerLimits
from hil_mcp.sandbox.images import ensure_image
from hil_mcp.sandbox.local import open_local

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from hil_mcp.sandbox.sandbox import Sandbox, SandboxKind
    from hil_mcp.settings import Settings
    from task_store.records import RepositoryEnvironment

OUR_PACKAGES = ("hil_mcp", "judge", "task_store", "clients")


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxConfig:
    """How repositories are run."""

    kind: SandboxKind | None = None
    """None chooses by the task."""
    docker_address: str = "unix:///var/run/docker.sock"
    tree_image: str | None = None
    """Image for source trees under `docker`."""
    limits: DockerLimits = field(default_factory=DockerLimits)
    protected: tuple[Path, ...] = ()
    """Folders that no command may see, beside this program's own packages."""


def sandbox_config(settings: Settings) -> SandboxConfig:
    """What the settings say of sandboxes."""
    return SandboxConfig(
        kind=settings.sandbox,
        docker_address=settings.docker_host,
        tree_image=settings.sandbox_image,
        limits=DockerLimits(network=settings.sandbox_network),
        protected=(settings.home.absolute(),),
    )


def kind_for(environment: RepositoryEnvironment, config: SandboxConfig) -> SandboxKind:
    """The kind of sandbox that a task gets; also its sessions' `isolation`.

    Raises:
        ConfigError: The kind asked for cannot hold the task.
    """
    kind = config.kind or ("docker" if environment.image is not None else "bubblewrap")
    if kind != "docker" and environment.tree is None:
        raise ConfigError(
            f"sandbox {kind} cannot hold {environment.repository}, which lives in an image: "
            "choose sandbox docker"
        )
    if kind == "docker" and environment.image is None and config.tree_image is None:
        raise ConfigError(
            f"{environment.repository} is a source tree: for sandbox docker, set "
            "HIL_MCP_SANDBOX_IMAGE to an image that is there and has git and the task's tools"
        )
    return kind


@asynccontextmanager
async def open_sandbox(
    environment: RepositoryEnvironment,
    artefact_path: Path | None,
    config: SandboxConfig,
    *,
    session_id: str,
) -> AsyncGenerator[Sandbox]:
    """Open a sandbox with a task's repository for the time of the context.

    Args:
        environment: The task's.
        artefact_path: The source tree, or the image's archive; None when the image may only be
            in Docker.
        config: Kind and limits.
        session_id: Names what is made.

    Raises:
        ConfigError: The kind asked for cannot hold the task.
        DataError: The tree or the archive cannot be read.
        SandboxError: The sandbox does not start.
    """
    kind = kind_for(environment, config)
    if kind == "docker":
        opened = _open_in_docker(environment, artefact_path, config, session_id)
    elif artefact_path is None:
        raise ConfigError(f"{environment.repository}: its source tree is not here")
    elif kind == "local":
        opened = open_local(artefact_path, session_id=session_id)
    else:
        protected = (*config.protected, *own_folders())
        opened = open_bubblewrap(artefact_path, session_id=session_id, protected=protected)
    async with opened as sandbox:
        yield sandbox


@asynccontextmanager
async def _open_in_docker(
    environment: RepositoryEnvironment,
    artefact_path: Path | None,
    config: SandboxConfig,
    session_id: str,
) -> AsyncGenerator[Sandbox]:
    daemon = await anyio.to_thread.run_sync(DockerDaemon, config.docker_address)
    try:
        if environment.image is not None:
            image, tree = environment.image.image or environment.image.name, None
            await ensure_image(daemon, image, artefact_path)
        else:
            image, tree = config.tree_image or "", artefact_path
        async with open_docker(
            daemon,
            image,
            session_id=session_id,
            tree=tree,
            working_dir=environment.working_dir,
            limits=config.limits,
        ) as sandbox:
            yield sandbox
    finally:
        daemon.close()


def own_folders() -> tuple[Path, ...]:
    """Where this program's packages are: the starter tasks' answers are among them."""
    found = (find_spec(name) for name in OUR_PACKAGES)
    return tuple(
        Path(place) for spec in found if spec for place in spec.submodule_search_locations or ()
    )
