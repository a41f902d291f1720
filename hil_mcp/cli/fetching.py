"""Fetching with a progress bar on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.cli.images import load_images
from task_store.errors import TaskStoreError
from task_store.fetch.fetcher import FetchConfig, Fetcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.progress import Progress

    from hil_mcp.cli.batch import Batch
    from hil_mcp.settings import Settings
    from task_store.records import Task
    from task_store.store import TaskStore


def fetch_tasks(
    settings: Settings, store: TaskStore, tasks: list[Task], batch: Batch
) -> list[dict[str, object]]:
    """Fetch what these tasks miss.

    Args:
        settings: Where to look.
        store: Gets the files.
        tasks: From that store.
        batch: Takes the failures; the other files still come.

    Returns:
        One object for each artefact: `task`, `name`, `role`, `outcome` (`present`, `fetched`,
        `failed`), `path`, `error`.
    """
    files: list[dict[str, object]] = []
    archives: dict[str, Path] = {}  # by tag
    with _fetcher(settings, store) as fetcher, _progress() as bars:
        for task in tasks:
            for artefact in task.artefacts:
                file: dict[str, object] = {
                    "task": task.task_id,
                    "name": artefact.name,
                    "role": artefact.role,
                    "outcome": "fetched" if artefact.is_missing else "present",
                    "path": None,
                    "error": None,
                }
                note = _bar(bars, f"{task.task_id} {artefact.name}", artefact.size_bytes)
                try:
                    path = fetcher.fetch(task, artefact, note)
                    file["path"] = str(path)
                    if artefact.image is not None:
                        archives[artefact.image] = path
                except TaskStoreError as exc:
                    file |= {"outcome": "failed", "error": str(exc)}
                    batch.failed(exc)
                files.append(file)
    load_images(archives, settings, batch)
    return files


def download_rows(name: str, settings: Settings, store: TaskStore) -> Path:
    """Download the rows of a data set; the folder that holds them."""
    with _fetcher(settings, store) as fetcher, _progress() as bars:
        return fetcher.fetch_rows(name, _bar(bars, f"hf:{name}", None))


def _fetcher(settings: Settings, store: TaskStore) -> Fetcher:
    config = FetchConfig(
        image_archive_root=settings.swe_image_archive_root,
        image_bucket=settings.swe_hf_bucket,
    )
    return Fetcher(store, config)


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        # A log file or a pipe gets the result's lines alone.
        disable=not console.is_terminal,
    )


def _bar(bars: Progress, text: str, size_bytes: int | None) -> Callable[[int, int | None], None]:
    # Shown once there is something to show: most files of a task are here already or small.
    bar = bars.add_task(text, total=size_bytes, visible=False)

    def note(done: int, total: int | None) -> None:
        bars.update(bar, completed=done, total=total, visible=done != total)

    return note
