"""What only the Docker sandbox promises: limits, removal, images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from hil_mcp.errors import SandboxError
from hil_mcp.sandbox.container import open_docker
from hil_mcp.sandbox.docker import DockerLimits
from hil_mcp.sandbox.errors import SandboxLimitError
from hil_mcp.sandbox.images import ensure_image, prune_images
from tests.support.released_tasks import docker as docker_by_hand
from tests.support.released_tasks import save_archive, tiny_image
from tests.support.sandboxes import docker_daemon, opened

if TYPE_CHECKING:
    from pathlib import Path

    from hil_mcp.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.docker

_SMALL = DockerLimits(cpus=1, memory_bytes=128 << 20, processes=40, disk_bytes=60 << 20)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    return folder


async def shell(sandbox: Sandbox, script: str, timeout_s: float = 20) -> str:
    result = await sandbox.exec(["sh", "-c", script], timeout_s=timeout_s, limit_bytes=100_000)
    return result.text + result.error_text


def containers() -> list[str]:
    return docker_by_hand("ps", "-a", "-q", "--filter", "label=hil-mcp.session").decode().split()


async def test_memory_processes_and_file_sizes_are_limited(tree: Path) -> None:
    async with opened("docker", tree, limits=_SMALL) as sandbox:
        memory = await sandbox.exec(
            ["python3", "-c", "x = bytearray(400 << 20); print('got it')"],
            timeout_s=30,
            limit_bytes=1000,
        )
        processes = await shell(
            sandbox,
            "for i in $(seq 80); do sleep 5 & done; ls -d /proc/[0-9]* | wc -l",
        )
        file = await shell(sandbox, "head -c 80000000 /dev/zero > big; stat -c %s big")

        assert memory.status == 137
        assert "Cannot fork" in processes or "Resource temporarily unavailable" in processes
        assert int(file.split()[0]) <= _SMALL.disk_bytes


async def test_a_container_that_fills_the_disk_is_stopped(tree: Path) -> None:
    async with opened("docker", tree, limits=_SMALL) as sandbox:
        with pytest.raises(SandboxLimitError, match="disk"):
            await shell(
                sandbox,
                "for i in 1 2 3 4; do head -c 50000000 /dev/zero > big$i; done; sleep 60",
                timeout_s=50,
            )
        with pytest.raises(SandboxLimitError, match="disk"):
            await shell(sandbox, "true")
    assert containers() == []


async def test_a_container_has_no_mounts_no_network_no_capabilities_and_no_root(
    tree: Path,
) -> None:
    async with opened("docker", tree) as sandbox:
        text = await shell(sandbox, "id -u; ls /sys/class/net; grep CapEff /proc/self/status")
        (container,) = containers()
        mounts = docker_by_hand("inspect", "-f", "{{json .Mounts}}", container)

        assert text.split() == ["1000", "lo", "CapEff:", "0" * 16]
        assert mounts.strip() == b"[]"


async def test_the_container_is_gone_after_an_error_and_after_a_cancellation(tree: Path) -> None:
    with pytest.raises(RuntimeError, match="inside"):
        async with opened("docker", tree):
            raise RuntimeError("inside")
    assert containers() == []

    with anyio.move_on_after(30) as scope:
        async with opened("docker", tree) as sandbox:
            scope.cancel()
            await shell(sandbox, "sleep 30")
    assert containers() == []


async def test_an_image_that_is_not_there_or_does_not_start_is_said(tree: Path) -> None:
    with docker_daemon() as daemon:
        with pytest.raises(SandboxError, match="has no image hil-mcp-none:1"):
            async with open_docker(daemon, "hil-mcp-none:1", session_id="x", tree=tree):
                pytest.fail("started")
        docker_by_hand("import", "-", "hil-mcp-empty:1", stdin=bytes(10240))
        try:
            with pytest.raises(SandboxError):
                async with open_docker(daemon, "hil-mcp-empty:1", session_id="x", tree=tree):
                    pytest.fail("started")
        finally:
            docker_by_hand("rmi", "hil-mcp-empty:1")
    assert containers() == []


async def test_an_archive_that_is_cut_short_or_brings_another_image_is_refused(
    tmp_path: Path,
) -> None:
    tiny_image("hilbench-swe:tiny")
    archive = tmp_path / "tiny.tar.zst"
    save_archive("hilbench-swe:tiny", archive)
    docker_by_hand("rmi", "hilbench-swe:tiny")
    cut = tmp_path / "cut.tar.zst"
    cut.write_bytes(archive.read_bytes()[:-40])
    with docker_daemon() as daemon:
        with pytest.raises(SandboxError):
            await ensure_image(daemon, "hilbench-swe:tiny", cut)
        with pytest.raises(SandboxError, match="brings hilbench-swe:tiny and not hilbench-swe:x"):
            await ensure_image(daemon, "hilbench-swe:x", archive)
        with pytest.raises(SandboxError, match="tasks fetch"):
            await ensure_image(daemon, "hilbench-swe:x", None)
        await ensure_image(daemon, "hilbench-swe:tiny", archive)

        assert prune_images(daemon, {"hilbench-swe:tiny"}) == ()
        assert prune_images(daemon, set()) == ("hilbench-swe:tiny",)
        assert daemon.image_tags("hilbench-swe") == ()


async def test_an_uncompressed_archive_is_loaded_too(tmp_path: Path) -> None:
    tiny_image("hilbench-swe:plain")
    archive = tmp_path / "plain.tar"
    archive.write_bytes(docker_by_hand("save", "hilbench-swe:plain"))
    docker_by_hand("rmi", "hilbench-swe:plain")
    with docker_daemon() as daemon:
        await ensure_image(daemon, "hilbench-swe:plain", archive)

        assert prune_images(daemon, set()) == ("hilbench-swe:plain",)
