"""What `tasks fetch` does: one artefact after another, checked before it is kept."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from task_store.addresses import file_name_of, scheme_of
from task_store.artefact_folder import make_private, measure
from task_store.errors import ArtefactMismatchError, FetchError
from task_store.fetch.download import Address, Downloader
from task_store.fetch.hub import SCHEME, Hub
from task_store.fetch.partials import PartialFiles
from task_store.sources.huggingface import ROW_SUFFIXES
from task_store.store import check_published

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from task_store.fetch.download import Progress
    from task_store.records import Artefact, Task
    from task_store.store import TaskStore


def partial_dir(store: TaskStore) -> Path:
    """Where the downloads of a store begin."""
    return store.files.root / "partial"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchConfig:
    """What a user may change about fetching."""

    hf_endpoint: str | None = None
    """Base address of the hub; None for huggingface_hub's own."""
    image_archive_root: Path | None = None
    """Local tree that has image archives under the paths of their bucket, or flat."""
    image_bucket: str | None = None
    """`OWNER/BUCKET` that image archives come from instead of their own."""
    attempts: int = 5
    """Tries in a row that bring nothing."""


class Fetcher:
    """Brings artefacts into the store. Use it as a context manager.

    Args:
        store: Gets the files.
        config: Where to look.
        sleep: Waits that many seconds between tries.
    """

    def __init__(
        self,
        store: TaskStore,
        config: FetchConfig | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._config = config or FetchConfig()
        self._hub = Hub(self._config.hf_endpoint)
        self._downloader = Downloader(attempts=self._config.attempts, sleep=sleep)
        self._partials = PartialFiles(partial_dir(store))

    def __enter__(self) -> Fetcher:
        self._store.files.make()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._downloader.close()

    def fetch(self, task: Task, artefact: Artefact, on_progress: Progress) -> Path:
        """Bring one artefact into the store, unless it is there.

        Args:
            task: The task as the store gives it.
            artefact: One of its artefacts.
            on_progress: Told bytes so far and bytes in all, if known.

        Returns:
            The file in the store.

        Raises:
            FetchError: It cannot be had; what came so far stays for the next try.
            ArtefactMismatchError: It has come and is not the published one; nothing stays.
        """
        if not artefact.is_missing:
            return self._store.artefact_path(artefact)
        source = self._source_of(artefact)
        local = _local_path(source)
        with self._partials.held(source) as partial:
            if local is None:
                expected = self._download(source, artefact, partial, on_progress)
            else:
                expected = artefact
                _copy_local(local, partial, source)
            stored = measure(partial)
            try:
                check_published(expected, stored)
            except ArtefactMismatchError:
                partial.unlink()
                raise
            on_progress(stored.size_bytes, stored.size_bytes)
            self._store.adopt(task, artefact, partial, stored)
        return self._store.files.path_of(stored.sha256)

    def fetch_rows(self, name: str, on_progress: Progress) -> Path:
        """Download the rows of a data set on the hub.

        Args:
            name: `OWNER/NAME`.
            on_progress: As in `fetch`.

        Returns:
            A folder with the files of rows.

        Raises:
            FetchError: There is no such data set, or it cannot be had.
        """
        folder = self._store.files.root.parent / "rows" / name.replace("/", "--")
        make_private(folder)
        for source in self._hub.row_files(name, ROW_SUFFIXES):
            with self._partials.held(source) as partial:
                address = self._hub.address_of(source, is_verified=False)
                self._downloader.download(address, partial, on_progress)
                partial.replace(folder / file_name_of(source))
        return folder

    def _source_of(self, artefact: Artefact) -> str:
        if artefact.source is None:
            raise FetchError(
                artefact.name,
                "its source names no address: put the file where the task was imported from "
                "and import it again",
            )
        if artefact.role != "image":
            return artefact.source
        root, bucket = self._config.image_archive_root, self._config.image_bucket
        inside = _path_in_bucket(artefact.source)
        if root is not None:
            for candidate in (root / (inside or artefact.name), root / artefact.name):
                if candidate.is_file():
                    return str(candidate.absolute())
        if bucket is not None and inside is not None:
            return f"{SCHEME}://buckets/{bucket}/{inside}"
        return artefact.source

    def _download(
        self, source: str, artefact: Artefact, partial: Path, on_progress: Progress
    ) -> Artefact:
        """Download, and say what is known of the file by its task and by its host."""
        is_verified = artefact.sha256 is not None
        if scheme_of(source) == SCHEME:
            address = self._hub.address_of(source, is_verified=is_verified)
        else:
            address = Address(
                shown=source, url=source, size_bytes=artefact.size_bytes, is_verified=is_verified
            )
        published, found = artefact.size_bytes, address.size_bytes
        if published is not None and found is not None and published != found:
            raise ArtefactMismatchError(
                f"{source}: its size is {found} there and {published} is published"
            )
        self._check_room(source, address.size_bytes, partial)
        self._downloader.download(address, partial, on_progress)
        return replace(artefact, size_bytes=address.size_bytes)

    def _check_room(self, source: str, size_bytes: int | None, partial: Path) -> None:
        have = partial.stat().st_size if partial.exists() else 0
        needed = (size_bytes or 0) - have
        free = shutil.disk_usage(self._partials.folder).free
        if needed > free:
            raise FetchError(
                source,
                f"needs {needed:,} bytes and {free:,} are free under {self._partials.folder}",
            )


def _local_path(source: str) -> Path | None:
    match scheme_of(source):
        case "":
            return Path(source)
        case "file":
            return Path(unquote(source[len("file://") :]))
        case "http" | "https" | "hf":
            return None
        case other:
            raise FetchError(source, f"{other}:// is no way to fetch that is known here")


def _path_in_bucket(source: str) -> str | None:
    """The part after `hf://buckets/OWNER/BUCKET/`; None for any other address."""
    prefix = f"{SCHEME}://buckets/"
    if not source.startswith(prefix):
        return None
    parts = source.removeprefix(prefix).split("/", 2)
    return parts[2] if len(parts) == 3 else None


def _copy_local(path: Path, partial: Path, source: str) -> None:
    try:
        shutil.copyfile(path, partial)
    except OSError as exc:
        raise FetchError(source, exc.strerror or str(exc)) from exc
