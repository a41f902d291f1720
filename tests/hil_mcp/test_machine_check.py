"""`hil-mcp doctor` without an agent, and what commands do with Docker's images."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hil_mcp.cli.main import main
from tests.support.released_tasks import docker, save_archive, tiny_image
from tests.support.sandboxes import TEST_IMAGE, docker_address, why_no_bubblewrap

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, object]]:
    status = run("doctor", "--json", *arguments)
    document = json.loads(capsys.readouterr().out)
    assert document["well"] == (status == 0)
    return {check["name"]: check for check in document["checks"]}


def test_the_doctor_says_which_sandboxes_this_machine_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HIL_MCP_DOCKER_HOST", f"unix://{tmp_path}/none.sock")

    checks = doctor(capsys)

    assert checks["sandbox docker"]["passed"] is None
    bubblewrap = checks["sandbox bubblewrap"]["passed"]
    assert bubblewrap is (True if why_no_bubblewrap() is None else None)


def test_a_machine_without_bubblewrap_is_told_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HIL_MCP_DOCKER_HOST", f"unix://{tmp_path}/none.sock")

    checks = doctor(capsys)

    assert "package bubblewrap" in str(checks["sandbox bubblewrap"])


_SERVER = """
import anyio, sys
from pathlib import Path
from hil_mcp.sandbox.container import open_docker
from hil_mcp.sandbox.docker import DockerDaemon

async def main():
    daemon = DockerDaemon(sys.argv[1])
    async with open_docker(daemon, sys.argv[2], session_id="killed", tree=Path(sys.argv[3])):
        print("started", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.docker
def test_the_doctor_finds_the_container_of_a_killed_server_and_removes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIL_MCP_DOCKER_HOST", docker_address())
    command = [sys.executable, "-c", _SERVER, docker_address(), TEST_IMAGE, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"started\n"
        in_use = doctor(capsys)
        os.kill(server.pid, signal.SIGKILL)
    found = doctor(capsys)
    removed = doctor(capsys, "--remove-orphans")
    after = doctor(capsys)

    name = "containers without a server"
    assert "none" in str(in_use[name])
    assert "session killed" in str(found[name])
    assert "--remove-orphans" in str(found[name])
    assert "removed hil-mcp-killed-" in str(removed[name])
    assert "none" in str(after[name])


@pytest.mark.docker
def test_a_fetched_image_is_loaded_and_pruned_with_its_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIL_MCP_DOCKER_HOST", docker_address())
    task = _write_image_task(tmp_path, "hilbench-swe:tiny-task")
    tiny_image("hilbench-swe:tiny-task")
    save_archive("hilbench-swe:tiny-task", tmp_path / "tiny.tar.zst")
    docker("rmi", "hilbench-swe:tiny-task")

    assert run("tasks", "import", str(task)) == 0
    assert run("tasks", "fetch", "tiny_task") == 0
    loaded = docker("images", "-q", "hilbench-swe:tiny-task")
    assert run("tasks", "prune", "--images") == 0
    kept = docker("images", "-q", "hilbench-swe:tiny-task")
    assert run("tasks", "prune", "--images", "tiny_task") == 0

    assert loaded == kept != b""
    assert docker("images", "-q", "hilbench-swe:tiny-task") == b""
    assert "hilbench-swe:tiny-task: removed from Docker" in capsys.readouterr().out


def test_a_fetch_without_docker_keeps_the_archive_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIL_MCP_DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    task = _write_image_task(tmp_path, "hilbench-swe:absent")
    (tmp_path / "tiny.tar.zst").write_bytes(b"an archive")

    assert run("tasks", "import", str(task)) == 0
    assert run("tasks", "fetch", "tiny_task") == 0
    assert run("tasks", "prune", "--images") == 0

    assert "the images were not loaded" in capsys.readouterr().err


def _write_image_task(folder: Path, image: str) -> Path:
    task = folder / "tiny_task"
    task.mkdir()
    (task / "task.toml").write_text(f"""
format = "hil-mcp/task/1"
id = "tiny_task"
kind = "repository"
statement = "Do it."

[repository]
name = "tiny/tiny"
language = "python"

[gold]
test_command = ["true"]
fail_to_pass = ["t"]

[[fetch]]
role = "image"
name = "tiny.tar.zst"
source = "{folder}/tiny.tar.zst"
image = "{image}"

[[blockers]]
id = "how"
type = "missing parameters"
description = "Nothing says how."
resolution = "Slowly."
example_questions = ["How is it done?"]
""")
    return task
