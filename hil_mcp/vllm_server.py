"""Run vLLM as a judge's server: find the GPUs, start it, wait until it answers, end it whole."""

from __future__ import annotations

import secrets
import socket
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from clients.process import OutputSink, run_child, start_child
from hil_mcp.errors import ConfigError, SandboxError
from hil_mcp.settings import child_environment
from hil_mcp.vllm_plan import read_cpu_flags, read_gpus
from judge.client import CallError, ChatClient

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from typing import BinaryIO

    from clients.process import Child
    from hil_mcp.vllm_plan import Gpu, ServerPlan

_GPU_QUERY = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
_QUERY_LIMIT_S = 20.0
_CONNECT_LIMIT_S = 2.0
_CPU_INFO = Path("/proc/cpuinfo")
_QUERY_LIMIT_BYTES = 100_000
_POLL_S = 0.5
_LAST_WORDS_S = 0.5
_TAIL_BYTES = 2000


class RunningServer:
    """A vLLM that was started; what it writes goes to a file."""

    def __init__(self, child: Child, log_path: Path) -> None:
        """Take over the process."""
        self._child = child
        self._log_path = log_path
        self._ended = anyio.Event()

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._child.pid

    async def watch(self, log: BinaryIO) -> None:
        """Copy its output until it ends, though its children may hold the pipes open."""
        kept = _LogSink(log)
        async with anyio.create_task_group() as reading:
            reading.start_soon(self._child.drain_stdout, kept)
            reading.start_soon(self._child.drain_stderr, kept)
            await self._child.wait()
            reading.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS_S
        self._ended.set()

    async def wait_until_it_answers(
        self, url: str, *, api_key: str, limit_s: float
    ) -> tuple[str, ...]:
        """Wait for the list of models; returns their names.

        Raises:
            SandboxError: The server ended, or did not answer in time; tells its last lines.
        """
        async with ChatClient(url, api_key=api_key) as client:
            with anyio.move_on_after(limit_s):
                while not self._ended.is_set():
                    try:
                        return tuple(model.name for model in await client.models())
                    except CallError:
                        with anyio.move_on_after(_POLL_S):
                            await self._ended.wait()
        raise SandboxError(self._obituary())

    async def wait(self) -> None:
        """Wait for the server's end, which is not supposed to come by itself.

        Raises:
            SandboxError: It ended; tells its last lines.
        """
        await self._ended.wait()
        raise SandboxError(self._obituary())

    def _obituary(self) -> str:
        what = "ended" if self._ended.is_set() else "did not answer in time"
        return f"vLLM {what}; the end of {self._log_path}:\n{_tail(self._log_path)}"


class _LogSink(OutputSink):
    def __init__(self, log: BinaryIO) -> None:
        super().__init__(0)
        self._log = log

    def take(self, chunk: bytes) -> None:
        self._log.write(chunk)
        self._log.flush()


async def find_gpus() -> tuple[Gpu, ...]:
    """The NVIDIA GPUs of this machine; none where their tool is missing or fails."""
    try:
        listed = await run_child(
            _GPU_QUERY,
            env=child_environment({}),
            timeout_s=_QUERY_LIMIT_S,
            limit_bytes=_QUERY_LIMIT_BYTES,
        )
    except OSError:
        return ()
    return read_gpus(listed.stdout.data.decode("utf-8", "replace")) if listed.status == 0 else ()


def find_cpu_flags() -> frozenset[str]:
    """What this machine's processor can do, in the kernel's words; empty off Linux."""
    try:
        return read_cpu_flags(_CPU_INFO.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return frozenset()


async def check_vllm(python: str) -> None:
    """See that an interpreter has vLLM.

    Raises:
        ConfigError: It has not, or cannot be run.
    """
    probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
    try:
        done = await run_child(
            [python, "-c", probe], env=child_environment({}), timeout_s=60.0, limit_bytes=1000
        )
    except OSError as exc:
        raise ConfigError(f"--python {python}: cannot be run: {exc.strerror}") from exc
    if done.status != 0:
        raise ConfigError(
            f"{python} has no vLLM: install hil-mcp with its extra vllm, or name the interpreter "
            "of an environment that has it with --python"
        )


def refuse_taken(url: str) -> None:
    """See that nobody listens where the server is to: it would be taken for the server.

    Raises:
        ConfigError: Somebody does.
    """
    place = urlsplit(url)
    try:
        with socket.create_connection((place.hostname, place.port), timeout=_CONNECT_LIMIT_S):
            pass
    except OSError:
        return
    raise ConfigError(f"{url}: another server is there already: end it, or choose another --port")


def api_key_path(home: Path) -> Path:
    """Where the key of this machine's own server is kept, mode 0600."""
    return home / "judge-api-key"


def kept_api_key(home: Path) -> str:
    """The key of this machine's own server, made at the first call.

    Raises:
        ConfigError: Its file cannot be made or read.
    """
    path = api_key_path(home)
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(24) + "\n", encoding="ascii")
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: cannot be used: {exc}") from exc


@asynccontextmanager
async def running(
    plan: ServerPlan, log_path: Path, *, api_key: str
) -> AsyncGenerator[RunningServer]:
    """The server, ended with all its children on the way out.

    Args:
        plan: How it is started.
        log_path: Where its output goes.
        api_key: What callers must send; given in the environment, since argv can be seen by all.

    Raises:
        ConfigError: The interpreter cannot be started.
    """
    log_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        environment = child_environment({**plan.environment, "VLLM_API_KEY": api_key})
        child = await start_child(plan.command, env=environment)
    except OSError as exc:
        raise ConfigError(f"{plan.command[0]}: cannot be run: {exc.strerror}") from exc
    failed: SandboxError | None = None
    async with child:
        server = RunningServer(child, log_path)
        with log_path.open("wb") as log:
            async with anyio.create_task_group() as watching:
                watching.start_soon(server.watch, log)
                try:
                    yield server
                except SandboxError as exc:  # kept: a task group would wrap it
                    failed = exc
                watching.cancel_scope.cancel()
    if failed is not None:
        raise failed


def _tail(path: Path) -> str:
    with path.open("rb") as log:
        log.seek(0, 2)
        log.seek(max(0, log.tell() - _TAIL_BYTES))
        return log.read().decode("utf-8", "replace").rstrip()
