"""What the schema tools say of a task's database: its description files, then its own schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from hil_mcp.errors import SandboxError
from hil_mcp.sql.description_files import (
    ColumnDescription,
    DescriptionFiles,
    read_description_files,
)
from hil_mcp.sql.outcome import ResultSet
from hil_mcp.sql.runner import WHOLE_RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from hil_mcp.sql.runner import SqlRunner

# Tables without any column to show, such as a broken view, still have a name.
_SCHEMA_QUERY = """
    SELECT m.name, c.name, c.type
    FROM sqlite_master AS m LEFT JOIN pragma_table_info(m.name) AS c
    WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite^_%' ESCAPE '^'
    ORDER BY m.rowid, c.cid
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDescription:
    """One table as the agent sees it."""

    name: str
    description: str
    columns: tuple[ColumnDescription, ...]

    def column(self, name: str) -> ColumnDescription | None:
        """The column of this name, exactly or without regard to case and outer blanks."""
        found = _named(name, (column.name for column in self.columns))
        return next((column for column in self.columns if column.name == found), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseDescription:
    """The tables of one database, in order."""

    tables: tuple[TableDescription, ...]

    def table(self, name: str) -> TableDescription | None:
        """The table of this name, exactly or without regard to case and outer blanks."""
        found = _named(name, (table.name for table in self.tables))
        return next((table for table in self.tables if table.name == found), None)


class TaskSchema:
    """Describes one task's database; read at the first call and kept."""

    def __init__(
        self, database_name: str, description_files: Mapping[str, Path], runner: SqlRunner
    ) -> None:
        """Name what there is to read; nothing is opened yet.

        Args:
            database_name: The only name that the tools answer to.
            description_files: Path of each description CSV by its released name. A file that is
                absent or unreadable is replaced by the database's own schema.
            runner: Reads that schema.
        """
        self.database_name = database_name
        self._files = dict(description_files)
        self._runner = runner
        self._description: DatabaseDescription | None = None
        self._turn = anyio.Lock()

    def refusal(self, database_name: str) -> str | None:
        """What to say to an agent that names another database; None for the right one."""
        if database_name == self.database_name:
            return None
        return (
            f"Error: database {database_name} doesn't exist. "
            f"The database of this task is '{self.database_name}'."
        )

    async def describe(self) -> DatabaseDescription:
        """All tables with their columns.

        Raises:
            SandboxError: There are no description files and the schema could not be read.
        """
        async with self._turn:
            if self._description is None:
                files = await anyio.to_thread.run_sync(read_description_files, self._files)
                self._description = _merged(files, await self._own_schema(files))
        return self._description

    async def _own_schema(self, files: DescriptionFiles) -> dict[str, list[ColumnDescription]]:
        outcome = await self._runner.execute(_SCHEMA_QUERY, WHOLE_RESULT)
        if not isinstance(outcome, ResultSet):
            if files.tables:  # the descriptions stand for themselves
                return {}
            raise SandboxError(f"{self.database_name}: the schema cannot be read: {outcome}")
        tables: dict[str, list[ColumnDescription]] = {}
        for table, column, data_type in outcome.rows:
            columns = tables.setdefault(str(table), [])
            if column is not None:
                columns.append(ColumnDescription(name=str(column), data_type=str(data_type)))
        return tables


def _merged(
    files: DescriptionFiles, own: Mapping[str, list[ColumnDescription]]
) -> DatabaseDescription:
    described = files.tables if files.tables else dict.fromkeys(own, "")
    own_by_key = {_key(name): columns for name, columns in own.items()}
    return DatabaseDescription(
        tables=tuple(
            TableDescription(
                name=name,
                description=description,
                columns=files.columns.get(_key(name)) or tuple(own_by_key.get(_key(name), ())),
            )
            for name, description in described.items()
        )
    )


def _key(name: str) -> str:
    return name.strip().lower()


def _named(name: str, known: Iterable[str]) -> str | None:
    """The known name that is `name`, or else the first that differs in case and blanks only."""
    names = list(known)
    if name in names:
        return name
    return next((candidate for candidate in names if _key(candidate) == _key(name)), None)
