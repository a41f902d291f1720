"""The Docker daemon: the one module that knows its SDK.

Methods block, so callers cross into a worker thread first. The SDK has no types; what it returns
leaves here as records, text and bytes, and what it raises as `SandboxError`.
"""

# The SDK ships neither types nor stubs.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import re
import socket
import struct
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from hil_mcp.errors import SandboxError
from hil_mcp.sandbox.errors import SandboxGoneError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from docker.models.containers import Container

_CALL_TIMEOUT_S = 60
"""For one answer of the daemon; the output of commands is waited for without it."""
_LOAD_TIMEOUT_S = 3600
_FRAME_HEADER = struct.Struct(">BxxxL")
_STDERR = 2
_LOADED = re.compile(r"^Loaded image(?: ID)?: (\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerLimits:
    """What one container may use."""

    cpus: float = 4.0
    """CPU time a second, in cores; held to those of the daemon's machine."""
    memory_bytes: int = 8 << 30
    processes: int = 1024
    disk_bytes: int = 16 << 30
    """What it may write beside its image. The storage driver holds it where it can; elsewhere no
    file may be longer, and a container that is over it is stopped within seconds."""
    network: str = "none"
    """Docker's name of a network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """What a container is made of. No mounts, no entrypoint of the image's own."""

    image: str
    name: str
    user: str
    working_dir: str
    labels: Mapping[str, str]
    capabilities: tuple[str, ...]
    environment: Mapping[str, str]
    limits: DockerLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEntry:
    """One container of ours as the daemon lists it."""

    container_id: str
    name: str
    labels: Mapping[str, str]
    is_running: bool


class ExecStream:
    """Both ways of one command's streams. `read` and `write` run in a thread each."""

    def __init__(self, exec_id: str, connection: Any) -> None:  # the SDK's own
        """Take over the connection of a command that was just started."""
        self.exec_id = exec_id
        self._response = connection._response  # the SDK keeps it there
        self._socket: socket.socket = getattr(connection, "_sock", connection)
        # The daemon's first frames may already lie in the buffer that its headers were read with.
        self._reader: IO[bytes] = self._response.raw._fp.fp
        self._socket.settimeout(None)

    def write(self, data: bytes) -> None:
        """Send all of stdin and close it. A command that does not read is no error."""
        with suppress(OSError):
            self._socket.sendall(data)
            self._socket.shutdown(socket.SHUT_WR)

    def read(self, take: Callable[[Literal["stdout", "stderr"], bytes], None]) -> None:
        """Hand each piece of output on until the command has ended or `close` is called."""
        with suppress(OSError, ValueError):  # closed from the other thread
            while len(header := self._reader.read(_FRAME_HEADER.size)) == _FRAME_HEADER.size:
                stream, length = _FRAME_HEADER.unpack(header)
                data = self._reader.read(length)
                take("stderr" if stream == _STDERR else "stdout", data)

    def close(self) -> None:
        """End both directions; a reader in another thread returns."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._response.close()
        self._socket.close()


class DockerDaemon:
    """One daemon, reached by its address."""

    def __init__(self, address: str) -> None:
        """Connect.

        Args:
            address: `unix://…` or `tcp://…`.

        Raises:
            SandboxError: No daemon answers there.
        """
        import docker

        self.address = address
        # The SDK would leave its socket open behind a failed connection.
        if address.startswith("unix://") and not Path(address.removeprefix("unix://")).exists():
            raise SandboxError(_no_answer(address, "there is no such socket"))
        with docker_errors(address):
            self._client = docker.DockerClient(
                base_url=address, timeout=_CALL_TIMEOUT_S, max_pool_size=64
            )
            info: dict[str, Any] = self._client.info()
        self._cores = int(info.get("NCPU") or 1)
        self.storage_dir = str(info.get("DockerRootDir") or "")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def image_user(self, image: str) -> str | None:
        """The user that an image declares, `""` for root; None when the image is not there."""
        from docker.errors import ImageNotFound

        with docker_errors(self.address):
            try:
                attributes: dict[str, Any] = self._client.images.get(image).attrs
            except ImageNotFound:
                return None
        return str((attributes.get("Config") or {}).get("User") or "")

    def load_image(self, archive: IO[bytes] | Iterator[bytes]) -> tuple[str, ...]:
        """Load an uncompressed image archive as `docker save` writes it; the names it brought.

        Raises:
            SandboxError: The archive is cut short or none.
        """
        import docker

        names: list[str] = []
        problem = ""
        with (
            docker_errors(self.address),
            docker.APIClient(base_url=self.address, timeout=_LOAD_TIMEOUT_S) as api,
        ):
            # Read to the end even after an error: the SDK's own method leaves its socket open.
            for line in api.load_image(archive):
                problem = str(line.get("error") or problem)
                loaded = _LOADED.search(str(line.get("stream") or ""))
                if loaded:
                    names.append(loaded[1])
        if problem:
            raise SandboxError(f"Docker at {self.address} cannot load the archive: {problem}")
        return tuple(names)

    def image_tags(self, repository: str) -> tuple[str, ...]:
        """All tags of a repository, as `repository:tag`."""
        with docker_errors(self.address):
            images = self._client.images.list(name=repository)
            return tuple(tag for image in images for tag in image.tags)

    def remove_image(self, image: str) -> None:
        """Remove an image's name, and the image with its last one. Absence is no error."""
        from docker.errors import ImageNotFound

        with docker_errors(self.address), suppress(ImageNotFound):
            self._client.images.remove(image)

    def start_container(self, spec: ContainerSpec) -> str:
        """Create and start a container that does nothing; its id.

        Raises:
            SandboxError: The daemon refused; nothing of the container is left.
        """
        from docker.errors import APIError

        with docker_errors(self.address):
            try:
                container = self._create(spec, storage={"size": str(spec.limits.disk_bytes)})
            except APIError as exc:
                # Most storage drivers have no quota.
                if "storage" not in str(exc).lower():
                    raise
                container = self._create(spec, storage=None)
            try:
                container.start()
            except APIError:
                container.remove(force=True, v=True)
                raise
            return str(container.id)

    def _create(self, spec: ContainerSpec, storage: dict[str, str] | None) -> Container:
        from docker.types import LogConfig, Ulimit

        limits = spec.limits
        ulimits = [
            Ulimit(name="fsize", soft=limits.disk_bytes, hard=limits.disk_bytes),
            Ulimit(name="core", soft=0, hard=0),
        ]
        return self._client.containers.create(
            spec.image,
            command=[],
            entrypoint=["sleep", "2147483647"],
            name=spec.name,
            user=spec.user,
            working_dir=spec.working_dir,
            labels=dict(spec.labels),
            environment=dict(spec.environment),
            hostname="sandbox",
            init=True,
            healthcheck={"test": ["NONE"]},
            network_mode=limits.network,
            nano_cpus=int(min(limits.cpus, self._cores) * 1e9),
            mem_limit=limits.memory_bytes,
            memswap_limit=limits.memory_bytes,
            pids_limit=limits.processes,
            ulimits=ulimits,
            storage_opt=storage,
            cap_drop=["ALL"],
            cap_add=list(spec.capabilities),
            security_opt=["no-new-privileges"],
            log_config=LogConfig(type="none"),
        )

    def put(self, container_id: str, archive: bytes) -> None:
        """Unpack an uncompressed tar at the container's root."""
        with docker_errors(self.address):
            self._client.api.put_archive(container_id, "/", archive)

    def start_command(
        self,
        container_id: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        has_stdin: bool,
    ) -> ExecStream:
        """Start a command; its output waits in the stream.

        Raises:
            SandboxGoneError: The container no longer runs.
        """
        api = self._client.api
        with docker_errors(self.address):
            created = api.exec_create(
                container_id, list(command), stdin=has_stdin, environment=dict(environment)
            )
            exec_id = str(created["Id"])
            return ExecStream(exec_id, api.exec_start(exec_id, socket=True))

    def command_status(self, exec_id: str) -> int | None:
        """Exit status of a command; None while it runs, or when its container has stopped."""
        with docker_errors(self.address):
            status = self._client.api.exec_inspect(exec_id).get("ExitCode")
        return None if status is None else int(status)

    def is_running(self, container_id: str) -> bool:
        """Whether the container still runs."""
        from docker.errors import NotFound

        with docker_errors(self.address):
            try:
                state = self._client.api.inspect_container(container_id)["State"]
            except NotFound:
                return False
        return bool(state["Running"])

    def written_bytes(self, container_id: str) -> int:
        """What the container has written beside its image."""
        with docker_errors(self.address):
            rows = self._client.api.containers(all=True, size=True, filters={"id": container_id})
        return int(rows[0].get("SizeRw") or 0) if rows else 0

    def list_containers(self, label: str) -> tuple[ContainerEntry, ...]:
        """All containers, running or not, that carry a label."""
        with docker_errors(self.address):
            rows = self._client.api.containers(all=True, filters={"label": label})
        return tuple(
            ContainerEntry(
                container_id=row["Id"],
                name=row["Names"][0].lstrip("/"),
                labels=row["Labels"],
                is_running=row["State"] == "running",
            )
            for row in rows
        )

    def remove_container(self, name: str) -> None:
        """Kill and remove a container with its anonymous volumes. Absence is no error."""
        from docker.errors import NotFound

        with docker_errors(self.address), suppress(NotFound):
            self._client.api.remove_container(name, force=True, v=True)


@contextmanager
def docker_errors(address: str) -> Generator[None]:
    """Turn what the SDK raises into `SandboxError`, naming the daemon."""
    from docker.errors import APIError, DockerException, NotFound, StreamParseError
    from requests import RequestException

    try:
        yield
    except NotFound as exc:
        raise SandboxGoneError(f"Docker at {address}: {exc.explanation}") from exc
    except APIError as exc:
        text = str(exc.explanation or exc)
        gone = "is not running" in text or "is paused" in text
        raise (SandboxGoneError if gone else SandboxError)(f"Docker at {address}: {text}") from exc
    except (DockerException, StreamParseError, RequestException, OSError) as exc:
        raise SandboxError(_no_answer(address, str(exc))) from exc


def _no_answer(address: str, why: str) -> str:
    return f"Docker at {address} does not answer: {why}; start it, or set HIL_MCP_DOCKER_HOST"
