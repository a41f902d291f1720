"""Source trees: as one reproducible tar, and hidden test files as a patch over a tree."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from task_store.errors import InvalidTaskError
from task_store.fields import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What tools leave behind; installing a wheel compiles the Python files of a shipped tree.
_LEFT_BEHIND = frozenset({"__pycache__", ".git"})


def tree_files(tree: Path) -> dict[str, Path]:
    """Every file of a tree: path relative to it, with `/`, -> file; sorted by that path.

    Raises:
        InvalidTaskError: The tree is no folder, or holds a link or a special file.
    """
    if not tree.is_dir():
        raise InvalidTaskError(str(tree), "", "is not a folder")
    return dict(sorted(_walk(tree, "")))


def pack_tree(tree: Path) -> bytes:
    """The tree as an uncompressed tar; equal contents give equal bytes.

    Raises:
        InvalidTaskError: As `tree_files`.
    """
    # Here, since `serve` reads a task in place and packs nothing: its start counts.
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, file in tree_files(tree).items():
            content = read_bytes(file)
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755 if os.access(file, os.X_OK) else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def overlay_patch(overlay: Path, *, over: Path | None) -> str:
    """The files of `overlay`, laid over a tree, as one patch in git's form.

    Args:
        overlay: Files in the places where they belong.
        over: The tree; None when there is none, so that every file is new.

    Raises:
        InvalidTaskError: A file is not UTF-8 text.
    """
    parts: list[str] = []
    for name, file in tree_files(overlay).items():
        new = read_bytes(file, decode=True).decode("utf-8")
        old_file = None if over is None else over / name
        old = None
        if old_file is not None and old_file.is_file():
            old = read_bytes(old_file, decode=True).decode("utf-8")
        if old != new:
            parts.append(_file_patch(name, old, new))
    return "".join(parts)


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    for entry in folder.iterdir():
        if entry.name in _LEFT_BEHIND:
            continue
        name = f"{prefix}{entry.name}"
        if entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
            raise InvalidTaskError(str(entry), "", "is a link or a special file")
        if entry.is_dir():
            yield from _walk(entry, f"{name}/")
        else:
            yield name, entry


def _file_patch(name: str, old: str | None, new: str) -> str:
    import difflib

    head = f"diff --git a/{name} b/{name}\n"
    if old is None:
        head += "new file mode 100644\n"
    lines = difflib.unified_diff(
        _lines(old or ""),
        _lines(new),
        fromfile="/dev/null" if old is None else f"a/{name}",
        tofile=f"b/{name}",
    )
    return head + "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    # Not `splitlines`: it also breaks at form feeds and Unicode line separators.
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
