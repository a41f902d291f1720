"""What is written into the tables of the catalogue, inside a transaction of `store`.

Everything here takes an open database and neither opens nor commits one.
"""

# sqlite-utils annotates its rows and parameters as bare `dict` and `Sequence`.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, cast

from task_store.artefact_folder import StoredFile
from task_store.document import dump_task
from task_store.errors import TaskCollisionError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlite_utils import Database

    from task_store.records import Artefact, Task

AddOutcome = Literal["added", "new version", "updated", "unchanged"]

_VERSIONS_OF = "SELECT * FROM tasks WHERE task_id = ?"
_ARTEFACTS_OF = "SELECT * FROM artefacts WHERE task_id = ? AND digest = ? ORDER BY position"


def collision_text(task_id: str, taken: str, source: str) -> str:
    """What a `TaskCollisionError` says when `taken` belongs to a task from `source`."""
    return (
        f"{task_id}: the id {taken!r} belongs to a task from another source ({source}): "
        "import it under another name with --as PREFIX"
    )


def select(db: Database, sql: str, values: tuple[object, ...]) -> list[dict[str, Any]]:
    """All rows of a query, column -> value."""
    return [cast("dict[str, Any]", row) for row in db.query(sql, values)]


def refuse_collision(db: Database, task: Task) -> None:
    """Check that the task's id and aliases are free for it.

    Raises:
        TaskCollisionError: One belongs to a task from another source, or to another task.
    """
    for row in select(
        db,
        "SELECT source FROM tasks WHERE task_id = ? AND is_current AND source <> ? "
        "AND NOT EXISTS (SELECT 1 FROM tasks WHERE task_id = ? AND digest = ?)",
        (task.task_id, task.source, task.task_id, task.digest),
    ):
        raise TaskCollisionError(collision_text(task.task_id, task.task_id, str(row["source"])))
    for name in (task.task_id, *task.aliases):
        for row in select(
            db,
            "SELECT t.source FROM tasks t WHERE t.is_current AND t.task_id <> ?1 AND t.task_id IN "
            "(SELECT ?2 UNION SELECT task_id FROM aliases WHERE alias = ?2)",
            (task.task_id, name),
        ):
            raise TaskCollisionError(collision_text(task.task_id, name, str(row["source"])))


def write_task(
    db: Database, task: Task, artefacts: Sequence[Artefact], now: datetime
) -> AddOutcome:
    """Make `task` the current version of its id and keep all earlier ones.

    Args:
        db: Inside a transaction.
        task: With an id that is free for it.
        artefacts: Its artefacts, with `stored_sha256` for the files that came along.
        now: Time of the import, kept for a version that is new.
    """
    key = (task.task_id, task.digest)
    versions = {row["digest"]: row for row in select(db, _VERSIONS_OF, (task.task_id,))}
    before = versions.get(task.digest)
    if before is not None and before["source"] != task.source:
        # The same task by another way: its files are welcome, its origin stays.
        changed = _keep_files(db, key, artefacts)
        return "updated" if changed else "unchanged"
    document = dump_task(task)
    fields = {"kind": str(task.kind), "source": task.source, "n_blockers": len(task.registry)}
    db.execute("UPDATE tasks SET is_current = 0 WHERE task_id = ?", (task.task_id,))
    db.table("tasks").upsert(
        {
            "task_id": task.task_id,
            "digest": task.digest,
            "is_current": 1,
            **fields,
            "document": document,
            "imported_at": now.isoformat() if before is None else before["imported_at"],
        },
        pk=("task_id", "digest"),
    )
    db.execute("DELETE FROM aliases WHERE task_id = ?", (task.task_id,))
    others = [alias for alias in dict.fromkeys(task.aliases) if alias != task.task_id]
    db.table("aliases").insert_all({"alias": a, "task_id": task.task_id} for a in others)
    changed = _write_artefacts(db, key, artefacts)
    if before is None:
        return "new version" if versions else "added"
    same = before["document"] == document and before["is_current"] and not changed
    return "unchanged" if same else "updated"


def _write_artefacts(db: Database, key: tuple[str, str], artefacts: Sequence[Artefact]) -> bool:
    """Bring a version's artefacts up to date, keep what was fetched; says if anything changed."""
    before = select(db, _ARTEFACTS_OF, key)
    fetched = {(row["role"], row["name"]): row for row in before if row["stored_sha256"]}
    rows: list[dict[str, object]] = []
    for position, artefact in enumerate(artefacts):
        row: dict[str, object] = {"task_id": key[0], "digest": key[1], "position": position}
        row |= asdict(artefact)
        kept = fetched.get((artefact.role, artefact.name))
        if artefact.is_missing and kept and artefact.sha256 in (None, kept["stored_sha256"]):
            row |= {"stored_sha256": kept["stored_sha256"], "size_bytes": kept["size_bytes"]}
        rows.append(row)
    if rows == before:
        return False
    db.execute("DELETE FROM artefacts WHERE task_id = ? AND digest = ?", key)
    db.table("artefacts").insert_all(rows)
    return True


def _keep_files(db: Database, key: tuple[str, str], artefacts: Sequence[Artefact]) -> bool:
    """Record the files that came with the same task from another source; says if any was new."""
    changed = 0
    for artefact in artefacts:
        if artefact.stored_sha256 is not None and artefact.size_bytes is not None:
            stored = StoredFile(sha256=artefact.stored_sha256, size_bytes=artefact.size_bytes)
            changed += record_file(db, key, artefact, stored)
    return changed > 0


def record_file(db: Database, key: tuple[str, str], artefact: Artefact, stored: StoredFile) -> int:
    """Note that a version's artefact is in the store; the number of rows that this changed."""
    return db.execute(
        "UPDATE artefacts SET stored_sha256 = ?1, size_bytes = ?2 WHERE task_id = ?3 "
        "AND digest = ?4 AND role = ?5 AND name = ?6 AND stored_sha256 IS NOT ?1",
        (stored.sha256, stored.size_bytes, *key, artefact.role, artefact.name),
    ).rowcount


def forget_old_versions(db: Database) -> int:
    """Delete every version that is not current; how many there were."""
    for row in select(db, "SELECT task_id, digest FROM tasks WHERE NOT is_current", ()):
        db.execute(
            "DELETE FROM artefacts WHERE task_id = ? AND digest = ?",
            (row["task_id"], row["digest"]),
        )
    return db.execute("DELETE FROM tasks WHERE NOT is_current").rowcount
