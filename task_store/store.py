"""The catalogue: every task that was imported, in all its versions, and the files it needs.

The one owner of SQLite in this package. A single task is read with the standard library alone:
`serve` reads one before it may answer, and importing sqlite-utils takes longer than the rest of
its start together.
"""

# sqlite-utils annotates its rows and parameters as bare `dict` and `Sequence`.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from task_store.artefact_folder import ArtefactFolder, StoredFile
from task_store.document import dump_task, load_task
from task_store.errors import (
    ArtefactMismatchError,
    CatalogueError,
    MissingArtefactError,
    TaskCollisionError,
    UnknownTaskError,
)
from task_store.natural_order import natural_key
from task_store.records import Artefact, Task, TaskId, TaskKind
from task_store.schema import MIGRATIONS
from task_store.starter_pack import StarterPack

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlite_utils import Database

_LOCK_TIMEOUT_S = 30.0
_VERSIONS_OF = "SELECT * FROM tasks WHERE task_id = ?"
_ARTEFACTS_OF = "SELECT * FROM artefacts WHERE task_id = ? AND digest = ? ORDER BY position"
_ARTEFACT_COLUMNS = "role, name, source, sha256, size_bytes, image, stored_sha256"

AddOutcome = Literal["added", "new version", "updated", "unchanged"]


def utc_now() -> datetime:
    """The time now, with its zone."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """One line of `tasks list`."""

    task_id: TaskId
    digest: str
    kind: TaskKind
    n_blockers: int
    source: str
    missing: tuple[str, ...]
    """Names of the files that have still to be fetched."""


class TaskStore:
    """Tasks by id or alias, and their artefact files, under one home folder.

    Nothing is opened or made before it is needed, and no connection outlives a call.

    Args:
        home: Holds `catalogue.db` and `artefacts/`.
        starter: The tasks that ship in the package.
        now: Clock for the time of an import.
    """

    def __init__(
        self,
        home: Path,
        *,
        starter: StarterPack | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.catalogue_path = home.absolute() / "catalogue.db"
        self.files = ArtefactFolder(home.absolute() / "artefacts")
        self._starter = StarterPack() if starter is None else starter
        self._now = now

    def get(self, id_or_alias: str, *, digest: str | None = None) -> Task:
        """One task.

        Args:
            id_or_alias: Canonical id, or any other id that its source gave.
            digest: The version wanted; the last one imported by default.

        Raises:
            UnknownTaskError: There is no such task, or not in that version.
            CatalogueError: The catalogue cannot be read.
        """
        with self._reading() as db:
            task = None if db is None else self._read_task(db, id_or_alias, digest)
        if task is None:
            task = self._starter.get(id_or_alias)
        if task is None or digest not in (None, task.digest):
            raise UnknownTaskError(id_or_alias, digest)
        return task

    def list(self) -> list[TaskSummary]:
        """The current version of every task, the starter tasks included, in natural order."""
        found = {
            task.task_id: TaskSummary(
                task_id=task.task_id,
                digest=task.digest,
                kind=task.kind,
                n_blockers=len(task.registry),
                source=task.source,
                missing=(),
            )
            for task in self._starter.tasks()
        }
        with self._reading() as db:
            if db is not None:
                found |= {summary.task_id: summary for summary in self._read_summaries(db)}
        return sorted(found.values(), key=lambda summary: natural_key(summary.task_id))

    def versions(self, task_id: TaskId) -> list[str]:
        """Digests of all versions of an imported task, the oldest first."""
        with self._reading() as db:
            if db is None:
                return []
            rows = db.execute(
                "SELECT digest FROM tasks WHERE task_id = ? ORDER BY imported_at, rowid",
                (task_id,),
            )
            return [row["digest"] for row in rows]

    def add(self, task: Task, files: Mapping[str, Path | bytes] | None = None) -> AddOutcome:
        """Put a task into the catalogue as the current version of its id, all or nothing.

        Args:
            task: What an importer read.
            files: Artefact name -> content, for the artefacts that the source brought along.

        Raises:
            TaskCollisionError: The id or an alias belongs to a task from another source.
            ArtefactMismatchError: A file is not the one whose digest is published.
            CatalogueError: The catalogue cannot be written.
        """
        shipped = self._starter.get(task.task_id)
        if shipped is not None and shipped.digest != task.digest:
            raise TaskCollisionError(_collision(task.task_id, task.task_id, shipped.source))
        artefacts = [self._take_in(a, (files or {}).get(a.name)) for a in task.artefacts]
        with self._writing() as db:
            _refuse_collision(db, task)
            return _write_task(db, task, artefacts, self._now())

    def artefact_path(self, artefact: Artefact, *, task_id: str = "ID") -> Path:
        """The file of an artefact, to be read and never changed.

        Args:
            artefact: One of a task's `artefacts`.
            task_id: The task, for the command that the error names.

        Raises:
            MissingArtefactError: It is not on this machine; names the command that fetches it.
        """
        if artefact.stored_sha256 is not None:
            path = self.files.path_of(artefact.stored_sha256)
            if path.exists():
                return path
            shipped = self._starter.artefact_path(artefact, self.files)
            if shipped is not None:
                return shipped
        raise MissingArtefactError(
            f'{artefact.name} is not on this machine: fetch it with "hil-mcp tasks fetch {task_id}"'
        )

    def record_artefact(self, task: Task, artefact: Artefact, stored: StoredFile) -> None:
        """Note that an artefact's file is in the store now.

        Args:
            task: The task whose artefact it is, in the version meant.
            artefact: One of `task.artefacts`.
            stored: What `files` holds.
        """
        with self._writing() as db:
            db.execute(
                "UPDATE artefacts SET stored_sha256 = ?, size_bytes = ? "
                "WHERE task_id = ? AND digest = ? AND role = ? AND name = ?",
                (
                    stored.sha256,
                    stored.size_bytes,
                    task.task_id,
                    task.digest,
                    artefact.role,
                    artefact.name,
                ),
            )

    def _take_in(self, artefact: Artefact, content: Path | bytes | None) -> Artefact:
        if content is None:
            return artefact
        stored = self.files.add(content)
        check_published(artefact, stored)
        return replace(artefact, stored_sha256=stored.sha256, size_bytes=stored.size_bytes)

    def _read_task(
        self, db: sqlite3.Connection, id_or_alias: str, digest: str | None
    ) -> Task | None:
        row = db.execute(
            "SELECT task_id, digest, document FROM tasks WHERE task_id IN "
            "(SELECT ?1 UNION SELECT task_id FROM aliases WHERE alias = ?1) "
            "AND (digest = ?2 OR (?2 IS NULL AND is_current)) "
            "ORDER BY task_id = ?1 DESC LIMIT 1",
            (id_or_alias, digest),
        ).fetchone()
        if row is None:
            return None
        rows = db.execute(
            f"SELECT {_ARTEFACT_COLUMNS} FROM artefacts "  # noqa: S608  # a constant
            "WHERE task_id = ? AND digest = ? ORDER BY position",
            (row["task_id"], row["digest"]),
        )
        return load_task(row["document"], [self._load_artefact(found) for found in rows])

    def _load_artefact(self, row: sqlite3.Row) -> Artefact:
        artefact = Artefact(**dict(row))
        if artefact.stored_sha256 and not self.files.path_of(artefact.stored_sha256).exists():
            return replace(artefact, stored_sha256=None)
        return artefact

    def _read_summaries(self, db: sqlite3.Connection) -> Iterator[TaskSummary]:
        missing: dict[tuple[str, str], list[str]] = {}
        for row in db.execute("SELECT task_id, digest, name, stored_sha256 FROM artefacts"):
            stored = row["stored_sha256"]
            if stored is None or not self.files.path_of(stored).exists():
                missing.setdefault((row["task_id"], row["digest"]), []).append(row["name"])
        for row in db.execute(
            "SELECT task_id, digest, kind, n_blockers, source FROM tasks WHERE is_current"
        ):
            yield TaskSummary(
                task_id=TaskId(row["task_id"]),
                digest=row["digest"],
                kind=TaskKind(row["kind"]),
                n_blockers=row["n_blockers"],
                source=row["source"],
                missing=tuple(missing.get((row["task_id"], row["digest"]), ())),
            )

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection | None]:
        """A read-only connection, or None while there is no catalogue."""
        if not self.catalogue_path.exists():
            yield None
            return
        with self._translated():
            with self._opened_for_reading() as db:
                is_old = self._version(db) < len(MIGRATIONS)
            if is_old:
                with self._writing():
                    pass
            with self._opened_for_reading() as db:
                yield db

    def _opened_for_reading(self) -> closing[sqlite3.Connection]:
        db = sqlite3.connect(
            f"{self.catalogue_path.as_uri()}?mode=ro", uri=True, timeout=_LOCK_TIMEOUT_S
        )
        db.row_factory = sqlite3.Row
        return closing(db)

    @contextmanager
    def _writing(self) -> Generator[Database]:
        """A connection inside one transaction, with the catalogue in its newest form."""
        import sqlite_utils

        with self._translated():
            self.catalogue_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            connection = sqlite3.connect(self.catalogue_path, timeout=_LOCK_TIMEOUT_S)
            connection.row_factory = sqlite3.Row
            with sqlite_utils.Database(connection, execute_plugins=False) as db:
                # Taken at once: two writers that both read first could neither go on.
                connection.execute("BEGIN IMMEDIATE")
                try:
                    self._migrate(db)
                    yield db
                except BaseException:
                    connection.rollback()
                    raise
                connection.commit()

    def _migrate(self, db: Database) -> None:
        version = self._version(db.conn)
        if version == len(MIGRATIONS):
            return
        for migration in MIGRATIONS[version:]:
            migration(db)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _version(self, db: sqlite3.Connection) -> int:
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise CatalogueError(
                f"{self.catalogue_path} has catalogue version {version} and this hil-mcp knows "
                f"{len(MIGRATIONS)} at most: upgrade hil-mcp, or set HIL_MCP_HOME to another folder"
            )
        return version

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as exc:
            raise CatalogueError(f"{self.catalogue_path}: {exc}") from exc


def check_published(artefact: Artefact, stored: StoredFile) -> None:
    """Compare a file with what is published of it.

    Raises:
        ArtefactMismatchError: Another size or digest.
    """
    for what, published, found in (
        ("size", artefact.size_bytes, stored.size_bytes),
        ("SHA-256", artefact.sha256, stored.sha256),
    ):
        if published is not None and published != found:
            raise ArtefactMismatchError(
                f"{artefact.name}: its {what} is {found} and {published} is published: "
                "fetch it again, or ask where it came from"
            )


def _collision(task_id: str, taken: str, source: str) -> str:
    return (
        f"{task_id}: the id {taken!r} belongs to a task from another source ({source}): "
        "import it under another name with --as PREFIX"
    )


def _rows(db: Database, sql: str, values: tuple[object, ...]) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", row) for row in db.query(sql, values)]


def _refuse_collision(db: Database, task: Task) -> None:
    for row in _rows(
        db,
        "SELECT source FROM tasks WHERE task_id = ? AND is_current AND source <> ? "
        "AND NOT EXISTS (SELECT 1 FROM tasks WHERE task_id = ? AND digest = ?)",
        (task.task_id, task.source, task.task_id, task.digest),
    ):
        raise TaskCollisionError(_collision(task.task_id, task.task_id, str(row["source"])))
    for name in (task.task_id, *task.aliases):
        for row in _rows(
            db,
            "SELECT t.source FROM tasks t WHERE t.is_current AND t.task_id <> ?1 AND t.task_id IN "
            "(SELECT ?2 UNION SELECT task_id FROM aliases WHERE alias = ?2)",
            (task.task_id, name),
        ):
            raise TaskCollisionError(_collision(task.task_id, name, str(row["source"])))


def _write_task(
    db: Database, task: Task, artefacts: Sequence[Artefact], now: datetime
) -> AddOutcome:
    key = (task.task_id, task.digest)
    versions = {row["digest"]: row for row in _rows(db, _VERSIONS_OF, (task.task_id,))}
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
    before = _rows(db, _ARTEFACTS_OF, key)
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
        changed += db.execute(
            "UPDATE artefacts SET stored_sha256 = ?1, size_bytes = ?2 WHERE task_id = ?3 "
            "AND digest = ?4 AND role = ?5 AND name = ?6 AND ?1 NOT NULL "
            "AND stored_sha256 IS NOT ?1",
            (artefact.stored_sha256, artefact.size_bytes, *key, artefact.role, artefact.name),
        ).rowcount
    return changed > 0
