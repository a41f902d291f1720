"""The page of `hil-mcp tasks show`."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

from hil_mcp.cli.output import console
from hil_mcp.task_documents import modes_of
from task_store.records import RepositoryEnvironment, RepositoryGold, SqlEnvironment, SqlGold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from task_store.records import Blocker, Task

_MISSING_SHOWN = 3
_LONGEST_LINE = 100


def print_task(task: Task, versions: list[str], *, reveal: bool) -> None:
    """Print a task for people; the registry and the hidden answer only with `reveal`."""
    out = console()
    out.print(f"{task.task_id}: a {task.kind} task from {task.source}", markup=False, style="bold")
    facts = list(_facts(task, versions))
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        out.print(f"  {name:<{width}}  {value}", markup=False, soft_wrap=True)
    _section("Statement", task.statement.strip())
    if isinstance(task.environment, SqlEnvironment) and task.environment.business_info:
        rules = "\n".join(task.environment.business_info)
        _section("Business rules", rules, bullet="- ")
    if not reveal:
        out.print("\nBlockers and hidden answer are not shown: pass --reveal", markup=False)
        return
    for number, blocker in enumerate(task.registry.blockers, start=1):
        _section(f"Blocker {number}: {blocker.blocker_id}", "\n".join(_blocker(blocker)))
    for title, text in _gold(task):
        _section(title, text)


def _section(title: str, text: str, *, bullet: str = "") -> None:
    out = console()
    out.print(f"\n{title}", markup=False, style="bold")
    for line in text.split("\n"):
        out.print("\n".join(_wrapped(line, bullet)), markup=False, soft_wrap=True)


def _wrapped(line: str, bullet: str) -> list[str]:
    if line.startswith((" ", "\t")):
        # Code and diffs keep their lines.
        return [f"  {line.rstrip()}"]
    wrapped = textwrap.wrap(
        line,
        min(shutil.get_terminal_size().columns, _LONGEST_LINE),
        initial_indent=f"  {bullet}",
        subsequent_indent="  " + " " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapped or [""]


def _facts(task: Task, versions: list[str]) -> Iterator[tuple[str, str]]:
    match task.environment:
        case SqlEnvironment() as sql:
            yield "database", f"{sql.database_name} ({sql.database.name})"
            yield "descriptions", f"{len(sql.descriptions)} files"
            yield "business rules", str(len(sql.business_info))
        case RepositoryEnvironment() as repository:
            yield "repository", f"{repository.repository} ({repository.language})"
            if repository.image is not None:
                yield "image", f"{repository.image.image}{_size(repository.image.size_bytes)}"
            if repository.visible_test_command:
                yield "visible tests", " ".join(repository.visible_test_command)
    yield "blockers", str(len(task.registry))
    yield "modes", ", ".join(modes_of(len(task.registry)))
    missing = [artefact.name for artefact in task.artefacts if artefact.is_missing]
    if missing:
        more = len(missing) - _MISSING_SHOWN
        names = ", ".join(missing[:_MISSING_SHOWN]) + (f" and {more} more" if more > 0 else "")
        yield "missing", f'{names}; get with "hil-mcp tasks fetch {task.task_id}"'
    if task.aliases:
        yield "aliases", ", ".join(task.aliases)
    yield "digest", task.digest
    if len(versions) > 1:
        yield "versions", ", ".join(digest[:12] for digest in versions)
    if task.warnings:
        yield "warnings", f'{len(task.warnings)}; see "hil-mcp tasks lint {task.task_id}"'


def _blocker(blocker: Blocker) -> Iterator[str]:
    kinds = [text for text in (blocker.type, blocker.subtype) if text]
    yield f"{' / '.join(kinds) or 'no type'} ({blocker.category or 'no category'})"
    yield blocker.description.strip()
    yield f"-> {blocker.resolution.strip()}"
    yield from (f"? {question}" for question in blocker.example_questions)


def _gold(task: Task) -> Iterator[tuple[str, str]]:
    match task.gold:
        case SqlGold(query=query, result_csv=result_csv):
            texts = {"Hidden answer": query, "Its result": result_csv}
        case RepositoryGold(patch=patch, test_patch=test_patch, fail_to_pass=tests):
            texts = {
                "Hidden answer": patch,
                "Tests that have to pass": "\n".join(tests),
                "Hidden tests": test_patch,
            }
    for title, text in texts.items():
        yield title, (text or "none").strip()


def _size(size_bytes: int | None) -> str:
    return "" if size_bytes is None else f", {size_bytes / 1e9:.2f} GB to fetch"
