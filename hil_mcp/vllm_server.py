"""Start vLLM as a judge's server, with the options that the model and the machine call for."""

from __future__ import annotations

import re
import secrets
import signal
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from hil_mcp.errors import ConfigError, SandboxError
from hil_mcp.settings import child_environment
from judge.client import CallError, ChatClient

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import Process

CONTEXT_TOKENS = 8192
"""Twice what the longest released registry with a cut question takes."""
_MODULE = "vllm.entrypoints.openai.api_server"
_CPU_CACHE_GIB = 4
_POLL_S = 0.5
_STOP_S = 10.0
_TAIL_BYTES = 2000
# Part of a GPU that vLLM may fill, and what weights need beside them for the cache of one context.
_USABLE = 0.9
_BESIDE_WEIGHTS_GIB = 4.0
_BILLIONS = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)
# Word in a model's name -> vLLM's method on a GPU, and bytes a weight.
_QUANTISED: dict[str, tuple[str | None, float]] = {
    "awq": ("awq_marlin", 0.57),
    "gptq": ("gptq_marlin", 0.57),
    "w4a16": (None, 0.57),
    "fp8": (None, 1.0),
    "int8": (None, 1.0),
    "w8a8": (None, 1.0),
}
_WHOLE_BYTES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU of this machine."""

    name: str
    memory_gib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlan:
    """How the server is started."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    """Beyond this process's own; holds the API key, which never stands in `command`."""
    notes: tuple[str, ...]
    """What was found and chosen, in words."""


def find_gpus() -> tuple[Gpu, ...]:
    """The NVIDIA GPUs that this machine has; none where their tool is missing or fails."""
    command = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return read_gpus(listed.stdout)


def read_gpus(text: str) -> tuple[Gpu, ...]:
    """The tool's lines, `NAME, MEBIBYTES`; a line without a number is left out."""
    found: list[Gpu] = []
    for line in text.splitlines():
        name, _, memory = line.rpartition(",")
        if name and memory.strip().isdigit():
            found.append(Gpu(name=name.strip(), memory_gib=int(memory) / 1024))
    return tuple(found)


def plan_server(
    model: str,
    gpus: Sequence[Gpu],
    *,
    python: str,
    host: str,
    port: int,
    api_key: str,
    context_tokens: int = CONTEXT_TOKENS,
    served_name: str | None = None,
) -> ServerPlan:
    """Choose the options.

    Args:
        model: Name or folder of the model.
        gpus: What the machine has; empty for a CPU build.
        python: Interpreter of the environment that vLLM is installed in.
        host: Address to listen on.
        port: Port to listen on.
        api_key: What callers must send.
        context_tokens: Longest prompt and reply together.
        served_name: Name that the judge asks for; the model's by default.

    Raises:
        ConfigError: The model's weights do not fit into the GPUs.
    """
    method, weight_bytes = _quantisation(model)
    command = [python, "-m", _MODULE, "--model", model, "--host", host, "--port", str(port)]
    if served_name is not None:
        command += ["--served-model-name", served_name]
    command += [
        "--max-model-len",
        str(context_tokens),
        "--enable-prefix-caching",
        # Sampling is the judge's affair; a model's own defaults must not creep in.
        "--generation-config",
        "vllm",
        # Without it a weak model may write blanks between two keys until its reply is cut.
        "--structured-outputs-config",
        '{"backend": "xgrammar", "disable_any_whitespace": true}',
    ]
    environment = {"VLLM_API_KEY": api_key, "VLLM_NO_USAGE_STATS": "1"}
    if not gpus:
        command += ["--enforce-eager", "--dtype", "bfloat16"]
        environment["VLLM_CPU_KVCACHE_SPACE"] = str(_CPU_CACHE_GIB)
        notes = ("no GPU found: for a CPU build of vLLM, which is slow",)
        return ServerPlan(command=tuple(command), environment=environment, notes=notes)
    if method is not None:
        command += ["--quantization", method]
    parallel = _tensor_parallel(model, weight_bytes, gpus)
    command += ["--tensor-parallel-size", str(parallel)]
    notes = (
        f"{len(gpus)} GPU(s) found, {parallel} used: {gpus[0].name}, "
        f"{gpus[0].memory_gib:.0f} GiB each",
        f"quantisation: {method or 'as the model says'}",
    )
    return ServerPlan(command=tuple(command), environment=environment, notes=notes)


def _quantisation(model: str) -> tuple[str | None, float]:
    name = model.lower()
    return next((found for word, found in _QUANTISED.items() if word in name), (None, _WHOLE_BYTES))


def _tensor_parallel(model: str, weight_bytes: float, gpus: Sequence[Gpu]) -> int:
    """The fewest GPUs, a power of two, whose memory takes the weights and a cache."""
    smallest = min(gpu.memory_gib for gpu in gpus)
    sizes = [size for size in (1, 2, 4, 8, 16) if size <= len(gpus)]
    billions = _BILLIONS.findall(model.rsplit("/", 1)[-1])
    if not billions:
        return sizes[-1]
    needed = float(billions[-1]) * 1e9 * weight_bytes / 2**30 + _BESIDE_WEIGHTS_GIB
    for size in sizes:
        if size * smallest * _USABLE >= needed:
            return size
    raise ConfigError(
        f"{model} needs about {needed:.0f} GiB of GPU memory, and {sizes[-1]} x {smallest:.0f} GiB "
        "are there: take a smaller or a quantised model"
    )


def kept_api_key(home: Path) -> tuple[str, Path]:
    """The key of this machine's own server, made at the first call; and its file, mode 0600.

    Raises:
        ConfigError: The file cannot be made or read.
    """
    path = home / "judge-api-key"
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(secrets.token_urlsafe(24) + "\n", encoding="ascii")
        return path.read_text(encoding="ascii").strip(), path
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: cannot be used: {exc}") from exc


async def check_vllm(python: str) -> None:
    """See that an interpreter has vLLM.

    Raises:
        ConfigError: It has not, or cannot be run.
    """
    probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
    try:
        done = await anyio.run_process([python, "-c", probe], check=False)
    except OSError as exc:
        raise ConfigError(f"--python {python}: cannot be run: {exc.strerror}") from exc
    if done.returncode:
        raise ConfigError(
            f"{python} has no vLLM: install hil-mcp with its extra vllm, or name the interpreter "
            "of an environment that has it with --python"
        )


@asynccontextmanager
async def running(plan: ServerPlan, log_path: Path) -> AsyncGenerator[Process]:
    """The server's process, its output in a file; ended with all its children on the way out."""
    log_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with log_path.open("wb") as log:
        process = await anyio.open_process(
            list(plan.command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=child_environment(plan.environment),
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def wait_until_it_answers(
    process: Process, url: str, *, api_key: str, log_path: Path, limit_s: float
) -> tuple[str, ...]:
    """Wait for the list of models; returns their names.

    Raises:
        SandboxError: The process ended, or did not answer in time; tells the log's last lines.
    """
    async with ChatClient(url, api_key=api_key) as client:
        with anyio.move_on_after(limit_s):
            while process.returncode is None:
                try:
                    return tuple(model.name for model in await client.models())
                except CallError:
                    await anyio.sleep(_POLL_S)
    what = "did not answer" if process.returncode is None else f"ended ({process.returncode})"
    raise SandboxError(f"vLLM {what}; the end of {log_path}:\n{_tail(log_path)}")


async def _end(process: Process) -> None:
    import os

    for last in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, last)
        except ProcessLookupError:
            break
        with anyio.move_on_after(_STOP_S):
            await process.wait()
            break
    await process.aclose()


def _tail(path: Path) -> str:
    with path.open("rb") as log:
        log.seek(0, 2)
        log.seek(max(0, log.tell() - _TAIL_BYTES))
        return log.read().decode("utf-8", "replace").partition("\n")[2].rstrip()
