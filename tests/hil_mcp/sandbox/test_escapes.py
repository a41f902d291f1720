"""Escapes from a sandbox: none succeeds where something guards, each does where nothing does."""

from __future__ import annotations

import os
import secrets
import signal
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anyio
import pytest

from hil_mcp.repository.base_tree import start_from_one_commit
from hil_mcp.repository.patch import take_patch
from hil_mcp.sandbox.container import open_docker
from hil_mcp.sandbox.errors import SandboxTimeoutError
from tests.support.escape_attempts import ATTEMPTS, Attempt
from tests.support.escape_stage import Stage, open_stage
from tests.support.sandboxes import EACH_SANDBOX, TEST_IMAGE, docker_daemon, opened

if TYPE_CHECKING:
    from hil_mcp.sandbox.sandbox import Sandbox, SandboxKind

_GUARDED = [
    "bubblewrap",
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("docker as root", marks=pytest.mark.docker),
]


def test_there_are_at_least_fifty_attempts() -> None:
    assert len({attempt.name for attempt in ATTEMPTS}) == len(ATTEMPTS) >= 50


@pytest.fixture
def stage_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Short and near the top, where the attempts look.
    folder = tmp_path_factory.mktemp("stage")
    (folder / "tree").mkdir()
    (folder / "tree" / "a.txt").write_text("a\n")
    return folder


@pytest.mark.parametrize("kind", _GUARDED)
async def test_no_attempt_gets_out(
    kind: SandboxKind | Literal["docker as root"], stage_dir: Path
) -> None:
    with open_stage(stage_dir, stage_dir / "tree") as stage:
        got_out = await _try_all(kind, stage_dir / "tree", stage)

    assert [name for name, is_out in got_out.items() if is_out] == []


async def test_every_attempt_gets_out_where_nothing_guards(stage_dir: Path) -> None:
    with open_stage(stage_dir, stage_dir / "tree") as stage:
        got_out = await _try_all("local", stage_dir / "tree", stage)

    root_only = {attempt.name for attempt in ATTEMPTS if attempt.needs_root}
    skipped = root_only if os.geteuid() != 0 else set[str]()
    assert {name for name, is_out in got_out.items() if not is_out} - skipped == set()


async def _try_all(
    kind: SandboxKind | Literal["docker as root"], tree: Path, stage: Stage
) -> dict[str, bool]:
    async with AsyncExitStack() as stack:
        if kind == "docker as root":
            # A released image: its repository and its commands belong to root.
            daemon = stack.enter_context(docker_daemon())
            open_one = partial(open_docker, daemon, TEST_IMAGE, working_dir="/srv")
        else:
            protected = (Path(stage.names["home"]), Path(stage.names["package"]))
            open_one = partial(opened, kind, tree, protected=protected)
        other = await stack.enter_async_context(open_one(session_id="other"))
        inside = await stack.enter_async_context(open_one(session_id="inside"))
        write = f"printf %s '{stage.secret}' >other-{stage.names['unique']}"
        await other.exec(["sh", "-c", write], timeout_s=10, limit_bytes=1000)
        return {attempt.name: await _gets_out(inside, attempt, stage) for attempt in ATTEMPTS}


async def _gets_out(sandbox: Sandbox, attempt: Attempt, stage: Stage) -> bool:
    script = f"mkdir -p try && cd try && {{ {stage.script(attempt.script)}\n}}; cd ..; rm -rf try"
    try:
        result = await sandbox.exec(["sh", "-c", script], timeout_s=15, limit_bytes=50_000_000)
    except SandboxTimeoutError as exc:
        return stage.secret.encode() in exc.stdout
    return stage.secret.encode() in result.stdout or b"ESCAPED" in result.stdout


@pytest.mark.parametrize("kind", EACH_SANDBOX)
async def test_what_git_runs_while_a_patch_is_taken_runs_inside(
    kind: SandboxKind, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.txt").write_text("a\n")
    planted = tmp_path / "planted"
    script = (
        f"git config filter.f.clean 'sh -c \"cat; : >{planted}\"';"
        "echo '*.txt filter=f' >.gitattributes; echo b >b.txt"
    )
    async with opened(kind, tree) as sandbox:
        base = await start_from_one_commit(sandbox)
        await sandbox.exec(["sh", "-c", script], timeout_s=10, limit_bytes=1000)
        await take_patch(sandbox, base)

    assert planted.exists() == (kind == "local")


@pytest.mark.parametrize("kind", EACH_SANDBOX)
async def test_no_process_outlives_its_session(kind: SandboxKind, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    mark = str(secrets.randbelow(9_000_000) + 1_000_000)
    async with opened(kind, tree) as sandbox:
        await sandbox.exec(
            ["sh", "-c", f"env -i setsid sh -c 'exec sleep {mark}' >/dev/null 2>&1 & sleep 0.5"],
            timeout_s=10,
            limit_bytes=1000,
        )
    if kind == "local":
        (left,) = _running(mark)
        os.kill(left, signal.SIGKILL)
        return
    with anyio.fail_after(5):  # killed with its sandbox; the kernel takes a moment to clear it up
        while _running(mark):  # noqa: ASYNC110  # another process's end gives no event
            await anyio.sleep(0.02)


def _running(mark: str) -> list[int]:
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if mark.encode() in _bytes_of(path)
    ]


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
