"""Artefact files by content: each lies under its own SHA-256 and is never changed."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from task_store.errors import InvalidTaskError
from task_store.tree import pack_tree

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_CHUNK_BYTES = 1 << 20
_UNFINISHED = "incoming-"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """What is known of a file that was put into the folder."""

    sha256: str
    size_bytes: int


class ArtefactFolder:
    """The files under `root`, named by their digest.

    Args:
        root: Made when the first file comes.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def make(self) -> None:
        """Make the folder for this user alone."""
        make_private(self.root)

    def path_of(self, sha256: str) -> Path:
        """Where the file with this digest lies, whether or not it is there."""
        return self.root / sha256[:2] / sha256

    def digests(self) -> set[str]:
        """Of all files that are here."""
        return {path.name for path in self.root.glob("??/*")}

    def remove(self, sha256: str) -> int:
        """Delete a file; its size in bytes."""
        path = self.path_of(sha256)
        size = path.stat().st_size
        path.unlink()
        return size

    def sweep(self) -> int:
        """Delete what killed imports left half copied; the bytes freed.

        Nobody may be adding at the same time.
        """
        freed_bytes = 0
        for path in self.root.glob(f"{_UNFINISHED}*"):
            freed_bytes += path.stat().st_size
            path.unlink()
        return freed_bytes

    def add(self, content: Path | bytes) -> StoredFile:
        """Copy a file, a folder as one tar, or bytes in; what is there already stays."""
        with self.new_file() as (out, temporary):
            stored = _copy(content, out)
            out.flush()
            os.fsync(out.fileno())
            self.adopt(temporary, stored.sha256)
        return stored

    def adopt(self, path: Path, sha256: str) -> None:
        """Move a finished file on the same disk to its place under a digest that was checked."""
        target = self.path_of(sha256)
        if target.exists():
            path.unlink()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        path.chmod(0o444)
        path.replace(target)

    @contextmanager
    def new_file(self) -> Generator[tuple[BinaryIO, Path]]:
        """A temporary file beside the others, removed unless it was adopted."""
        # Here, since reading a task writes nothing and the start of `serve` counts.
        import tempfile

        self.make()
        handle, name = tempfile.mkstemp(dir=self.root, prefix=_UNFINISHED)
        path = Path(name)
        try:
            with os.fdopen(handle, "wb") as out:
                yield out, path
        finally:
            path.unlink(missing_ok=True)


def make_private(folder: Path) -> None:
    """Make a folder that can hold hidden answers, with those above it, for this user alone."""
    for missing in reversed([folder, *folder.parents]):
        missing.mkdir(exist_ok=True, mode=0o700)


def measure(content: Path | bytes) -> StoredFile:
    """Digest and size, without a copy."""
    return _copy(content, None)


def _copy(content: Path | bytes, out: BinaryIO | None) -> StoredFile:
    digest = hashlib.sha256()
    size = 0
    for chunk in _chunks(content):
        digest.update(chunk)
        size += len(chunk)
        if out is not None:
            out.write(chunk)
    return StoredFile(sha256=digest.hexdigest(), size_bytes=size)


def _chunks(content: Path | bytes) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    if content.is_dir():
        yield pack_tree(content)
        return
    try:
        source = content.open("rb")
    except OSError as exc:
        # Whose file it is matters: one that cannot be written is the catalogue's trouble.
        raise InvalidTaskError(str(content), "", f"cannot be read: {exc.strerror}") from exc
    with source:
        while chunk := source.read(_CHUNK_BYTES):
            yield chunk
