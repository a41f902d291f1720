"""The partial files of downloads: one for each address, each held by one process at a time."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from task_store.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_LOCK_SUFFIX = ".lock"


class PartialFiles:
    """Partial files in one folder.

    Args:
        folder: On the disk that the finished files are moved to; made when needed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def held(self, source: str) -> Generator[Path]:
        """The partial file of an address, which may not be there yet.

        Raises:
            FetchError: Another process is fetching from the same address.
        """
        import filelock

        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / hashlib.sha256(source.encode()).hexdigest()[:32]
        lock = filelock.FileLock(partial.with_name(partial.name + _LOCK_SUFFIX))
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout as exc:
            raise FetchError(source, "is being fetched by another process") from exc
        try:
            yield partial
        finally:
            lock.release()

    def sweep(self) -> int:
        """Delete what interrupted downloads left, unless one is running; the bytes freed."""
        import filelock

        freed_bytes = 0
        for lock_file in sorted(self.folder.glob(f"*{_LOCK_SUFFIX}")):
            try:
                with filelock.FileLock(lock_file, timeout=0):
                    for file in self.folder.glob(f"{lock_file.name.removesuffix(_LOCK_SUFFIX)}*"):
                        freed_bytes += file.stat().st_size
                        file.unlink()
            except filelock.Timeout:
                continue
        return freed_bytes
