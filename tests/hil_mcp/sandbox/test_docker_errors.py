"""Every error that Docker's SDK knows becomes one of ours."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import docker.errors
import pytest

from hil_mcp.errors import SandboxError
from hil_mcp.sandbox.docker import DockerDaemon, docker_errors

if TYPE_CHECKING:
    from pathlib import Path

_ARGUMENTS: dict[str, tuple[object, ...]] = {
    "ContainerError": (None, 1, "x", "i", "e"),
    "BuildError": ("r", "l"),
    "TLSParameterError": ("m",),
    "MissingContextParameter": ("p",),
    "ContextAlreadyExists": ("n",),
    "ContextException": ("m",),
    "ContextNotFound": ("n",),
    "StreamParseError": ("r",),
}
_KNOWN = [
    error
    for _, error in inspect.getmembers(docker.errors, inspect.isclass)
    if issubclass(error, Exception) and error.__module__ == "docker.errors"
]


@pytest.mark.parametrize("error", _KNOWN, ids=[e.__name__ for e in _KNOWN])
def test_an_error_of_the_sdk_becomes_a_sandbox_error(error: type[Exception]) -> None:
    with pytest.raises(SandboxError, match="Docker at unix:///x"), docker_errors("unix:///x"):
        raise error(*_ARGUMENTS.get(error.__name__, ("text",)))


def test_no_daemon_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"does not answer.*HIL_MCP_DOCKER_HOST"):
        DockerDaemon(f"unix://{tmp_path}/no.sock")
