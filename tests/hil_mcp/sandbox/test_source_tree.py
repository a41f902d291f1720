"""How a task's source tree is laid out and packed."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from hil_mcp.errors import DataError, SandboxError
from hil_mcp.sandbox.health import check_health
from hil_mcp.sandbox.local import open_local
from hil_mcp.sandbox.sandbox import ExecResult
from hil_mcp.sandbox.source_tree import lay_out, packed


def test_a_tar_is_laid_out_like_the_folder_it_was_made_of(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "run.sh").write_text("echo\n")
    (folder / "sub" / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("sub/run.sh")
    with tarfile.open(tmp_path / "tree.tar.gz", "w:gz") as archive:
        archive.add(folder, arcname=".")

    lay_out(tmp_path / "tree.tar.gz", tmp_path / "out")

    assert (tmp_path / "out/sub/run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out/link").readlink() == Path("sub/run.sh")


@pytest.mark.parametrize("content", [b"no tar", None])
def test_what_is_no_tree_is_refused(tmp_path: Path, content: bytes | None) -> None:
    tree = tmp_path / "tree.tar"
    if content is not None:
        tree.write_bytes(content)

    with pytest.raises(DataError, match="source tree cannot be laid out"):
        lay_out(tree, tmp_path / "out")


def test_a_tar_cannot_write_outside(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        info = tarfile.TarInfo("../planted")
        archive.addfile(info, io.BytesIO())

    with pytest.raises(DataError):
        lay_out(tmp_path / "bad.tar", tmp_path / "out")
    assert not (tmp_path / "planted").exists()


def test_a_packed_tree_belongs_to_its_owner_and_stands_below_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "a").write_text("a")

    with tarfile.open(fileobj=io.BytesIO(packed(folder, under="/srv/app", owner=1000))) as archive:
        members = {m.name: (m.uid, m.gid, m.uname) for m in archive.getmembers()}

    assert members == {"srv/app": (1000, 1000, ""), "srv/app/a": (1000, 1000, "")}


async def test_folders_without_write_permission_are_removed_at_the_end(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    async with open_local(tree, session_id="locked") as sandbox:
        place = Path(sandbox.working_dir)
        await sandbox.exec(
            ["sh", "-c", "mkdir -p a/b && : >a/b/c && chmod 555 a/b a"],
            timeout_s=10,
            limit_bytes=1000,
        )

    assert not place.parent.exists()


class _Answering:
    """A sandbox in which every command ends in one way."""

    working_dir = "/app"

    def __init__(self, stdout: bytes, status: int) -> None:
        self._result = ExecResult(status=status, stdout=stdout, stderr=b"why", truncated=False)

    async def exec(self, *_: object, **__: object) -> ExecResult:
        return self._result


@pytest.mark.parametrize(
    ("stdout", "status", "message"),
    [
        (b"", 1, r"started but runs nothing \(status 1\): why"),
        (b"/app\nok\n", 0, "has no git"),
    ],
)
async def test_a_sandbox_that_starts_and_cannot_be_used_is_refused(
    stdout: bytes, status: int, message: str
) -> None:
    with pytest.raises(SandboxError, match=message):
        await check_health(_Answering(stdout, status), name="local")
