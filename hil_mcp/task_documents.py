"""Tasks as JSON documents for `--json`; the keys are stable once released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.modes import Mode
from task_store.records import RepositoryEnvironment, RepositoryGold, SqlEnvironment, SqlGold

if TYPE_CHECKING:
    from task_store.importing import ImportResult
    from task_store.records import Artefact, Blocker, Task
    from task_store.store import TaskSummary

Document = dict[str, object]


def modes_of(n_blockers: int) -> list[str]:
    """The modes that make sense for a task: without blockers there is nothing to ask for."""
    return [str(mode) for mode in Mode if n_blockers or not mode.can_ask]


def summary_document(summary: TaskSummary) -> Document:
    """One element of `tasks list --json`."""
    return {
        "id": summary.task_id,
        "kind": str(summary.kind),
        "modes": modes_of(summary.n_blockers),
        "n_blockers": summary.n_blockers,
        "source": summary.source,
        "missing": list(summary.missing),
    }


def import_document(results: list[ImportResult]) -> Document:
    """What `tasks import --json` prints."""
    outcomes = [result.outcome for result in results]
    return {
        "added": outcomes.count("added"),
        "new_versions": outcomes.count("new version"),
        "updated": outcomes.count("updated"),
        "unchanged": outcomes.count("unchanged"),
        "failed": outcomes.count(None),
        "tasks": [
            {
                "id": result.task_id,
                "place": result.place,
                "outcome": result.outcome or "failed",
                "warnings": list(result.warnings),
                "error": None if result.error is None else str(result.error),
            }
            for result in results
        ],
    }


def task_document(task: Task, versions: list[str], *, reveal: bool) -> Document:
    """What `tasks show --json` prints.

    Args:
        task: The task.
        versions: Digests of all its versions.
        reveal: Whether the registry, the hidden answer and what the importer mended are in it;
            they are null otherwise.
    """
    return {
        "id": task.task_id,
        "kind": str(task.kind),
        "source": task.source,
        "aliases": list(task.aliases),
        "digest": task.digest,
        "versions": versions or [task.digest],
        "modes": modes_of(len(task.registry)),
        "statement": task.statement,
        "released_instructions": sorted(task.released_instructions),
        "environment": _environment_document(task),
        "artefacts": [_artefact_document(artefact) for artefact in task.artefacts],
        "n_blockers": len(task.registry),
        "n_warnings": len(task.warnings),
        "warnings": list(task.warnings) if reveal else None,
        "blockers": [_blocker_document(b) for b in task.registry.blockers] if reveal else None,
        "gold": _gold_document(task) if reveal else None,
    }


def _environment_document(task: Task) -> Document:
    match task.environment:
        case SqlEnvironment() as sql:
            return {
                "database_name": sql.database_name,
                "n_descriptions": len(sql.descriptions),
                "business_info": list(sql.business_info),
            }
        case RepositoryEnvironment() as repository:
            return {
                "repository": repository.repository,
                "language": repository.language,
                "base_commit": repository.base_commit,
                "working_dir": repository.working_dir,
                "visible_test_command": list(repository.visible_test_command),
            }


def _artefact_document(artefact: Artefact) -> Document:
    return {
        "role": artefact.role,
        "name": artefact.name,
        "source": artefact.source,
        "sha256": artefact.sha256 or artefact.stored_sha256,
        "size_bytes": artefact.size_bytes,
        "image": artefact.image,
        "missing": artefact.is_missing,
    }


def _blocker_document(blocker: Blocker) -> Document:
    return {
        "id": blocker.blocker_id,
        "type": blocker.type,
        "subtype": blocker.subtype,
        "category": blocker.category,
        "description": blocker.description,
        "resolution": blocker.resolution,
        "example_questions": list(blocker.example_questions),
    }


def _gold_document(task: Task) -> Document:
    match task.gold:
        case SqlGold() as sql:
            return {"query": sql.query, "result_csv": sql.result_csv}
        case RepositoryGold() as repository:
            return {
                "patch": repository.patch,
                "test_patch": repository.test_patch,
                "fail_to_pass": list(repository.fail_to_pass),
                "pass_to_pass": list(repository.pass_to_pass),
                "test_files": list(repository.test_files),
            }
