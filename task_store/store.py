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
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from task_store.artefact_folder import ArtefactFolder, StoredFile, make_private
from task_store.catalogue_rows import (
    AddOutcome,
    collision_text,
    forget_old_versions,
    record_file,
    refuse_collision,
    select,
    write_task,
)
from task_store.document import load_task
from task_store.errors import (
    ArtefactMismatchError,
    CatalogueError,
    InvalidTaskError,
    MissingArtefactError,
    TaskCollisionError,
    UnknownTaskError,
)
from task_store.natural_order import natural_key
from task_store.records import Artefact, Task, TaskId, TaskKind
from task_store.schema import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from sqlite_utils import Database

    from task_store.starter_pack import StarterPack

_LOCK_TIMEOUT_S = 30.0
_ARTEFACT_COLUMNS = "role, name, source, sha256, size_bytes, image, stored_sha256"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """What `prune` took away."""

    versions: int
    """Versions of tasks that were forgotten."""
    files: int
    freed_bytes: int


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
        self._given_starter = starter
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
        if shipped is not None:
            if shipped.digest == task.digest:
                return "unchanged"
            raise TaskCollisionError(collision_text(task.task_id, task.task_id, shipped.source))
        _check_names(task)
        # The files come in under the lock, so that `prune` never sees one that no row names yet.
        with self._writing() as db:
            refuse_collision(db, task)
            artefacts = [self._take_in(a, (files or {}).get(a.name)) for a in task.artefacts]
            return write_task(db, task, artefacts, self._now())

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

    def adopt(self, task: Task, artefact: Artefact, file: Path, stored: StoredFile) -> None:
        """Move a fetched file into the store and note that the artefact is here.

        Args:
            task: The task whose artefact it is, in the version meant.
            artefact: One of `task.artefacts`.
            file: A finished file under the home folder; it is gone afterwards.
            stored: Its measure, which has been compared with what is published.
        """
        with self._writing() as db:
            self.files.adopt(file, stored.sha256)
            record_file(db, (task.task_id, task.digest), artefact, stored)

    def remove(self, task_id: TaskId) -> None:
        """Take a task out of the catalogue in all its versions; `prune` then frees its files."""
        with self._writing() as db:
            for table in ("tasks", "aliases", "artefacts"):
                db.execute(f"DELETE FROM {table} WHERE task_id = ?", (task_id,))  # noqa: S608

    def image_tags(self) -> set[str]:
        """Tags of the images that tasks in the catalogue name, in any version."""
        with self._reading() as db:
            if db is None:
                return set()
            rows = db.execute("SELECT DISTINCT image FROM artefacts WHERE image IS NOT NULL")
            return {str(row["image"]) for row in rows}

    def prune(self, *, old_versions: bool = False) -> PruneReport:
        """Delete the files that no task names and what killed imports left.

        Args:
            old_versions: Also forget the versions that are not current. Logs of them can then be
                scored and no longer graded.
        """
        if not self.catalogue_path.exists():
            return PruneReport(versions=0, files=0, freed_bytes=0)
        shipped = {a.stored_sha256 for task in self._starter.tasks() for a in task.artefacts}
        with self._writing() as db:
            versions = forget_old_versions(db) if old_versions else 0
            named = {
                row["stored_sha256"]
                for row in select(db, "SELECT DISTINCT stored_sha256 FROM artefacts", ())
            }
            sizes = [self.files.remove(sha256) for sha256 in self.files.digests() - named - shipped]
            freed_bytes = sum(sizes) + self.files.sweep()
        return PruneReport(versions=versions, files=len(sizes), freed_bytes=freed_bytes)

    @cached_property
    def _starter(self) -> StarterPack:
        if self._given_starter is not None:
            return self._given_starter
        # The reader of task folders is not needed for a task that was imported.
        from task_store.starter_pack import StarterPack

        return StarterPack()

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
            if self._needs_writing():
                with self._writing():
                    pass
            with self._opened_for_reading() as db:
                yield db

    def _needs_writing(self) -> bool:
        """Whether an earlier version made the catalogue, or a writer died in the middle."""
        with self._opened_for_reading() as db:
            try:
                return self._version(db) < len(MIGRATIONS)
            except sqlite3.OperationalError as exc:
                if exc.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
                    return True
                raise

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
            make_private(self.catalogue_path.parent)
            # The folder may have been made for other things, and with other rights.
            self.catalogue_path.touch(mode=0o600)
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


def _check_names(task: Task) -> None:
    names = [artefact.name for artefact in task.artefacts]
    for name in names:
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise InvalidTaskError(task.task_id, "artefacts", f"{name!r} is no file name")
        if names.count(name) > 1:
            raise InvalidTaskError(task.task_id, "artefacts", f"{name!r} is named twice")
