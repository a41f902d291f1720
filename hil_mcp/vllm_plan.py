"""Choose how vLLM is started as a judge's server, from the model and the GPUs. Starts nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

CONTEXT_TOKENS = 8192
"""Above what any question can take; see `judge.probe.CONTEXT_TOKENS`."""
_MODULE = "vllm.entrypoints.openai.api_server"
_CPU_CACHE_GIB = 2
# What /proc/cpuinfo calls the instructions for bfloat16 on x86 and on Arm. Without one it is
# emulated: a prompt was read six times slower than in single precision.
_BFLOAT16_FLAGS = frozenset(("avx512_bf16", "amx_bf16", "bf16"))
# Part of a GPU that vLLM may fill, and what weights need beside them for the cache of one context.
_USABLE = 0.9
_BESIDE_WEIGHTS_GIB = 4.0
_BILLIONS = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)
# Host that means "every address" -> one of them.
_NEAR = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # nothing is bound here
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
    """Beyond this process's own."""
    notes: tuple[str, ...]
    """What was found and chosen, in words."""


def read_gpus(text: str) -> tuple[Gpu, ...]:
    """The tool's lines, `NAME, MEBIBYTES`; a line without a number is left out."""
    found: list[Gpu] = []
    for line in text.splitlines():
        name, _, memory = line.rpartition(",")
        if name and memory.strip().isdigit():
            found.append(Gpu(name=name.strip(), memory_gib=int(memory) / 1024))
    return tuple(found)


def read_cpu_flags(text: str) -> frozenset[str]:
    """What the first processor of `/proc/cpuinfo` can do; empty where the file does not say."""
    for line in text.splitlines():
        name, _, words = line.partition(":")
        if name.strip() in {"flags", "Features"}:
            return frozenset(words.split())
    return frozenset()


def answering_url(host: str, port: int) -> str:
    """Where a server that listens on `host` answers from this machine, as a judge's address."""
    near = _NEAR.get(host, host)
    return f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"


def plan_server(
    model: str,
    gpus: Sequence[Gpu],
    *,
    python: str,
    host: str,
    port: int,
    cpu_flags: Collection[str] = (),
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
        cpu_flags: What the processor can do; only asked for where there is no GPU.
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
    environment = {"VLLM_NO_USAGE_STATS": "1"}
    if not gpus:
        dtype = "bfloat16" if _BFLOAT16_FLAGS.intersection(cpu_flags) else "float32"
        command += ["--enforce-eager", "--dtype", dtype]
        environment["VLLM_CPU_KVCACHE_SPACE"] = str(_CPU_CACHE_GIB)
        notes = (f"no GPU found: {dtype} for a CPU build of vLLM, which is slow",)
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
