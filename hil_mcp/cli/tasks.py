"""`hil-mcp tasks`: bring tasks in, look at them, fetch what they need, write them back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.batch import Batch
from hil_mcp.cli.output import console, print_json, remark
from hil_mcp.errors import ConfigError
from hil_mcp.modes import Mode
from hil_mcp.prompts import PromptStyle
from task_store.errors import TaskStoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hil_mcp.settings import Settings
    from task_store.importing import ImportResult
    from task_store.records import Task
    from task_store.store import TaskStore

_OUTCOMES = ("added", "new version", "updated", "unchanged", "failed")

app = typer.Typer(help="Import, show, check, fetch and export tasks.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document.")]
Strict = Annotated[bool, typer.Option(help="End with status 3 on any warning.")]
TaskIds = Annotated[list[str], typer.Argument(help="Ids or aliases.", show_default=False)]
MaybeTaskIds = Annotated[list[str] | None, typer.Argument(help="Ids or aliases.")]


@app.command("import")
def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PATH|hf:OWNER/NAME",
            help="Harbor checkout, task folders, instances.json, rows in .jsonl or .parquet.",
        ),
    ],
    *,
    prefix: Annotated[
        str | None, typer.Option("--as", metavar="PREFIX", help="Put PREFIX_ before every id.")
    ] = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> int:
    """Bring tasks into the catalogue; what cannot be read is named and the rest comes in."""
    from hil_mcp.task_documents import import_document
    from task_store.importing import import_tasks

    settings, store = _open()
    if prefix is not None and not prefix.replace("-", "").replace("_", "").isalnum():
        raise ConfigError(f"--as {prefix!r}: letters, digits, - and _ only")
    path = Path(source)
    if source.startswith("hf:"):
        from hil_mcp.cli.fetching import download_rows

        path = download_rows(source.removeprefix("hf:"), settings, store)
    batch = Batch()
    results: list[ImportResult] = []
    for result in import_tasks(store, path, prefix=prefix):
        results.append(result)
        if result.error is not None:
            batch.failed(result.error)
    _remark_warnings(results)
    batch.refused(warnings=any(result.warnings for result in results), strict=strict)
    if as_json:
        print_json(import_document(results))
    else:
        counts = Counter(result.outcome or "failed" for result in results)
        said = [f"{counts[outcome]} {outcome}" for outcome in _OUTCOMES if counts[outcome]]
        print(", ".join(said) or "no tasks there")
    return batch.status


@app.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List all tasks, the starter tasks included."""
    from hil_mcp.task_documents import summary_document

    _, store = _open()
    summaries = store.list()
    if as_json:
        print_json([summary_document(summary) for summary in summaries])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("id", "kind", "source", "blockers", "missing"):
        table.add_column(name, justify="right" if name in ("blockers", "missing") else "left")
    for summary in summaries:
        missing = str(len(summary.missing) or "")
        table.add_row(
            summary.task_id, str(summary.kind), summary.source, str(summary.n_blockers), missing
        )
    console().print(table)


@app.command()
def show(
    task_id: Annotated[str, typer.Argument(metavar="ID", help="Id or alias.")],
    *,
    reveal: Annotated[
        bool, typer.Option(help="Also show the blockers and the hidden answer.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show one task; its blockers and hidden answer only with --reveal."""
    from hil_mcp.cli.task_page import print_task
    from hil_mcp.task_documents import task_document

    _, store = _open()
    task = store.get(task_id)
    versions = store.versions(task.task_id)
    if as_json:
        print_json(task_document(task, versions, reveal=reveal))
    else:
        print_task(task, versions, reveal=reveal)


@app.command()
def lint(task_ids: MaybeTaskIds = None, *, strict: Strict = False, as_json: AsJson = False) -> int:
    """Say what is wrong or odd with tasks; with all of them when no id is given."""
    from hil_mcp.errors import DataError
    from task_store.lint import lint_task

    _, store = _open()
    batch = Batch()
    found = {
        task.task_id: lint_task(task)
        for task in _tasks(store, task_ids or [s.task_id for s in store.list()], batch)
    }
    if as_json:
        print_json(
            [
                {
                    "id": task_id,
                    "findings": [
                        {"severity": finding.severity, "message": finding.message}
                        for finding in findings
                    ],
                }
                for task_id, findings in found.items()
            ]
        )
    else:
        for task_id, findings in found.items():
            for finding in findings:
                print(f"{task_id}: {finding.severity}: {finding.message}")
    with_errors = [
        task_id
        for task_id, findings in found.items()
        if any(finding.severity == "error" for finding in findings)
    ]
    if with_errors:
        batch.failed(DataError(f"errors in {len(with_errors)} tasks: {', '.join(with_errors)}"))
    batch.refused(warnings=any(found.values()), strict=strict)
    return batch.status


@app.command()
def fetch(
    task_ids: MaybeTaskIds = None,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="What any task misses; images are large.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Fetch the databases and images that tasks need; what is here already is left alone."""
    from hil_mcp.cli.fetching import fetch_tasks

    settings, store = _open()
    batch = Batch()
    chosen = _chosen(store, task_ids, everything=everything)
    document = fetch_tasks(settings, store, list(_tasks(store, chosen, batch)), batch)
    if as_json:
        print_json(document)
    else:
        for file in document:
            print(f"{file['task']} {file['name']}: {file['outcome']}")
    return batch.status


@app.command()
def prune(
    task_ids: MaybeTaskIds = None,
    *,
    old_versions: Annotated[
        bool, typer.Option(help="Also forget versions of tasks that are not current.")
    ] = False,
    images_too: Annotated[
        bool, typer.Option("--images", help="Also remove released images that no task names.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Remove the tasks named, then every file that no task needs and interrupted downloads."""
    from hil_mcp.cli.images import prune_unused_images
    from task_store.fetch.fetcher import partial_dir
    from task_store.fetch.partials import PartialFiles

    settings, store = _open()
    batch = Batch()
    removed: list[str] = []
    for task in _tasks(store, task_ids or [], batch):
        if task.source == "starter":
            batch.failed(ConfigError(f"{task.task_id}: ships with hil-mcp and cannot be removed"))
            continue
        store.remove(task.task_id)
        removed.append(task.task_id)
    report = store.prune(old_versions=old_versions)
    freed_bytes = report.freed_bytes + PartialFiles(partial_dir(store)).sweep()
    images = prune_unused_images(settings, store) if images_too else ()
    if as_json:
        print_json(
            {
                "removed": removed,
                "old_versions": report.versions,
                "files": report.files,
                "freed_bytes": freed_bytes,
                "images": list(images),
            }
        )
    else:
        print(
            f"{len(removed)} tasks, {report.versions} old versions, {report.files} files removed; "
            f"{freed_bytes:,} bytes freed"
        )
        for tag in images:
            print(f"{tag}: removed from Docker")
    return batch.status


@app.command()
def prompt(
    task: Annotated[str, typer.Argument(help="Id or alias.", show_default=False)],
    *,
    mode: Annotated[Mode, typer.Option(help="What the agent gets.")] = Mode.ASK_HUMAN,
    style: Annotated[
        PromptStyle, typer.Option("--prompt", help="Our own words, or the released instruction.")
    ] = PromptStyle.OWN,
    instructions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Text to put before the statement.")
    ] = None,
    announce_tool: Annotated[
        bool, typer.Option(help="Add one neutral line that names ask_human.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the statement that an agent is given for a task."""
    from hil_mcp.prompts import prompt_digest, prompt_for, read_choice

    _, store = _open()
    found = store.get(task)
    choice = read_choice(style, instructions, announce_tool=announce_tool)
    text = prompt_for(found, mode, choice)
    if as_json:
        print_json(
            {
                "id": found.task_id,
                "mode": mode.value,
                "prompt": text,
                "prompt_digest": prompt_digest(choice),
            }
        )
    else:
        print(text, end="")


@app.command()
def export(
    task_ids: MaybeTaskIds = None,
    *,
    into: Annotated[Path, typer.Option(metavar="DIR", help="Gets one folder for each task.")],
    everything: Annotated[bool, typer.Option("--all", help="Every task.")] = False,
    as_json: AsJson = False,
) -> int:
    """Write tasks as folders that can be edited and imported again (docs/task-format.md)."""
    from task_store.export import export_task

    _, store = _open()
    batch = Batch()
    written: dict[str, Path] = {}
    for task in _tasks(store, _chosen(store, task_ids, everything=everything), batch):
        try:
            written[task.task_id] = export_task(store, task, into)
        except TaskStoreError as exc:
            batch.failed(exc)
    if as_json:
        print_json([{"id": task_id, "path": str(path)} for task_id, path in written.items()])
    else:
        for path in written.values():
            print(path)
    return batch.status


def _open() -> tuple[Settings, TaskStore]:
    from hil_mcp.settings import load_settings
    from task_store.store import TaskStore

    settings = load_settings()
    return settings, TaskStore(settings.home)


def _chosen(store: TaskStore, task_ids: list[str] | None, *, everything: bool) -> list[str]:
    if everything == bool(task_ids):
        raise ConfigError("name tasks by their ids, or pass --all")
    return [summary.task_id for summary in store.list()] if everything else task_ids or []


def _tasks(store: TaskStore, task_ids: list[str], batch: Batch) -> Iterator[Task]:
    """The tasks that there are; the others are failures of the batch."""
    for task_id in dict.fromkeys(task_ids):
        try:
            yield store.get(task_id)
        except TaskStoreError as exc:
            batch.failed(exc)


def _remark_warnings(results: list[ImportResult]) -> None:
    """Each warning with the tasks that have it: most are the same for half of a source."""
    tasks: dict[str, list[str]] = {}
    for result in results:
        for warning in result.warnings:
            tasks.setdefault(warning, []).append(str(result.task_id))
    for warning, ids in tasks.items():
        shown = ids[0] if len(ids) == 1 else f"{len(ids)} tasks from {ids[0]} to {ids[-1]}"
        remark(f"{shown}: {warning}")
