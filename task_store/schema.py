"""The tables of the catalogue, as a list of migrations; `PRAGMA user_version` counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlite_utils import Database


def _first_tables(db: Database) -> None:
    db.table("tasks").create(
        {
            "task_id": str,
            "digest": str,
            "is_current": int,
            "kind": str,
            "source": str,
            "n_blockers": int,
            "document": str,
            "imported_at": str,
        },
        pk=("task_id", "digest"),
        not_null={"is_current", "kind", "source", "n_blockers", "document", "imported_at"},
    )
    db.table("aliases").create({"alias": str, "task_id": str}, pk="alias", not_null={"task_id"})
    db.table("artefacts").create(
        {
            "task_id": str,
            "digest": str,
            "position": int,
            "role": str,
            "name": str,
            "source": str,
            "sha256": str,
            "size_bytes": int,
            "image": str,
            "stored_sha256": str,
        },
        pk=("task_id", "digest", "position"),
        not_null={"role", "name"},
    )


# Append only: a catalogue of version N has had the first N of them.
MIGRATIONS: tuple[Callable[[Database], None], ...] = (_first_tables,)
