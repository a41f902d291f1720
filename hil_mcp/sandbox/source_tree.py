"""The source tree of a task: a folder or a tar, laid out where a sandbox wants it."""

from __future__ import annotations

import io
import shutil
import tarfile
from typing import TYPE_CHECKING

from hil_mcp.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


def lay_out(tree: Path, target: Path) -> None:
    """Copy a folder or unpack a tar to `target`, which must not exist. Symlinks stay symlinks.

    Raises:
        DataError: The tree is not there, is no tar, or holds a member that leaves it.
    """
    try:
        if tree.is_dir():
            shutil.copytree(tree, target, symlinks=True)
            return
        target.mkdir(parents=True)
        with tarfile.open(tree) as archive:
            archive.extractall(target, filter="data")
    except (OSError, tarfile.TarError, shutil.Error) as exc:
        raise DataError(f"{tree}: the task's source tree cannot be laid out: {exc}") from exc


def packed(tree: Path, *, under: str, owner: int) -> bytes:
    """A laid-out folder as an uncompressed tar whose members stand below `under`.

    Args:
        tree: A folder.
        under: Absolute path that the members get.
        owner: User and group id of every member.
    """
    buffer = io.BytesIO()

    def owned(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = owner
        member.uname = member.gname = ""
        return member

    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(tree, arcname=under.lstrip("/"), filter=owned)
    return buffer.getvalue()
