"""The process that runs one query: no way to write, to read another file, or to go on for ever.

Run as a script by `hil_mcp.sql.runner`, isolated and without site packages, so that it starts in
some 20 ms: hence the standard library only, and nothing of ours. One request in on stdin, one reply
out on stdout, both JSON; then it ends. The parent keeps the deadline, by killing it: a progress
handler does not fire inside one long opcode.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH_LIMIT_BYTES = 10_000_000
"""Longest text, blob or row that SQLite makes."""
HEAP_LIMIT_BYTES = 512 * 1024 * 1024
"""SQLite's own allocations; beyond it a query fails with `out of memory`."""
MEMORY_LIMIT_BYTES = 1024 * 1024 * 1024
"""Address space of the whole process."""

READONLY_MESSAGE = "attempt to write a readonly database"

_CELL_OVERHEAD = 8
"""What a cell of the reply takes beside its text, about."""

OUT_OF_MEMORY = {"error": "out of memory", "kind": "memory"}

_SCALAR_FUNCTIONS = """
    abs char coalesce concat concat_ws format glob hex if ifnull iif instr length like likelihood
    likely lower ltrim max min nullif octet_length printf quote random randomblob replace round
    rtrim sign soundex sqlite_version substr substring subtype trim typeof unhex unicode unistr
    unistr_quote unlikely upper zeroblob changes last_insert_rowid total_changes sqlite_source_id
    sqlite_compileoption_used sqlite_compileoption_get match regexp
    date time datetime julianday unixepoch strftime timediff current_date current_time
    current_timestamp
    acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10
    log2 mod pi pow power radians sin sinh sqrt tan tanh trunc
"""
_AGGREGATE_FUNCTIONS = """
    avg count group_concat max median min percentile percentile_cont percentile_disc string_agg sum
    total cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank
    row_number
"""
_JSON_FUNCTIONS = """
    json json_array json_array_insert json_array_length json_error_position json_extract
    json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote
    json_remove json_replace json_set json_type json_valid -> ->>
    jsonb jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array jsonb_group_object
    jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set
"""
_FULL_TEXT_FUNCTIONS = "bm25 highlight snippet offsets matchinfo"
FUNCTIONS = frozenset(
    f"{_SCALAR_FUNCTIONS} {_AGGREGATE_FUNCTIONS} {_JSON_FUNCTIONS} {_FULL_TEXT_FUNCTIONS}".split()
)
"""What a query may call. Not in it: load_extension, fts3_tokenizer, readfile, writefile, edit."""

_SCHEMA_PRAGMAS = """
    table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list
    collation_list function_list
"""
_VALUE_PRAGMAS = """
    compile_options encoding user_version schema_version application_id page_count page_size
    freelist_count
"""
PRAGMAS = frozenset(f"{_SCHEMA_PRAGMAS} {_VALUE_PRAGMAS}".split())
"""Read-only pragmas by name. `database_list` is not in it: it names the file's place."""
_TABLE_PRAGMAS = tuple(_SCHEMA_PRAGMAS.split())
_JSON_TABLES = ("json_each", "json_tree")

# Tables that no schema holds and that show more than the task's rows.
_INTERNAL_TABLES = {"sqlite_dbpage", "dbstat", "sqlite_stmt", "bytecode", "tables_used"}

_WRITE_ACTIONS = {
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
    sqlite3.SQLITE_CREATE_TABLE,
    sqlite3.SQLITE_CREATE_INDEX,
    sqlite3.SQLITE_CREATE_VIEW,
    sqlite3.SQLITE_CREATE_TRIGGER,
    sqlite3.SQLITE_CREATE_VTABLE,
    sqlite3.SQLITE_DROP_TABLE,
    sqlite3.SQLITE_DROP_INDEX,
    sqlite3.SQLITE_DROP_VIEW,
    sqlite3.SQLITE_DROP_TRIGGER,
    sqlite3.SQLITE_DROP_VTABLE,
    sqlite3.SQLITE_ALTER_TABLE,
    sqlite3.SQLITE_REINDEX,
    sqlite3.SQLITE_ANALYZE,
}
_OTHER_ACTIONS = {
    sqlite3.SQLITE_ATTACH: "ATTACH and VACUUM",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_FUNCTION: "function",
    sqlite3.SQLITE_READ: "table",
    sqlite3.SQLITE_CREATE_TEMP_TABLE: "TEMP objects",
    sqlite3.SQLITE_CREATE_TEMP_INDEX: "TEMP objects",
    sqlite3.SQLITE_CREATE_TEMP_VIEW: "TEMP objects",
    sqlite3.SQLITE_CREATE_TEMP_TRIGGER: "TEMP objects",
}


class Guard:
    """SQLite's authorizer: allows what reads the task's database, and remembers what it refused."""

    def __init__(self) -> None:
        self.refused: str | None = None

    def __call__(
        self, action: int, first: str | None, second: str | None, _db: str | None, _by: str | None
    ) -> int:
        """Decide on one action of a statement; anything that is not known is refused."""
        if self._allows(action, first, second):
            return sqlite3.SQLITE_OK
        if action in _WRITE_ACTIONS:
            self.refused = READONLY_MESSAGE
        else:
            name = {sqlite3.SQLITE_FUNCTION: second, sqlite3.SQLITE_PRAGMA: first}.get(action)
            kind = _OTHER_ACTIONS.get(action, f"action {action}")
            self.refused = " ".join(part for part in ("not authorized:", kind, name) if part)
        return sqlite3.SQLITE_DENY

    def _allows(self, action: int, first: str | None, second: str | None) -> bool:
        if action == sqlite3.SQLITE_READ:
            return (first or "").lower() not in _INTERNAL_TABLES
        if action == sqlite3.SQLITE_FUNCTION:
            return (second or "").lower() in FUNCTIONS
        if action == sqlite3.SQLITE_PRAGMA:
            name = (first or "").lower()
            # An argument sets the others: `PRAGMA encoding = …`.
            return name in PRAGMAS and (second is None or name in _TABLE_PRAGMAS)
        # BEGIN and SAVEPOINT change nothing here: the connection ends with the call.
        return action in {
            sqlite3.SQLITE_SELECT,
            sqlite3.SQLITE_RECURSIVE,
            sqlite3.SQLITE_TRANSACTION,
            sqlite3.SQLITE_SAVEPOINT,
        }


def open_database(path: Path | None) -> sqlite3.Connection:
    """Open a database so that nothing can be written and no lock or side file is needed.

    `immutable=1` also opens a database in WAL mode whose side files are absent, and one that
    another process has locked.

    Args:
        path: The file; None opens an empty database in memory.
    """
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1" if path else ":memory:"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH_LIMIT_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
    for setting in (
        "temp_store = memory",
        "trusted_schema = off",
        "mmap_size = 0",
        f"hard_heap_limit = {HEAP_LIMIT_BYTES}",
    ):
        connection.execute(f"PRAGMA {setting}").close()
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    # Before the guard stands. A file that is no database fails at the first statement. The
    # others connect the table-valued functions, which to an authorizer looks like CREATE TABLE.
    connection.execute("SELECT count(*) FROM sqlite_master").close()
    for name in (*_JSON_TABLES, *(f"pragma_{pragma}" for pragma in _TABLE_PRAGMAS)):
        with suppress(sqlite3.OperationalError):  # this SQLite was built without it
            connection.execute(f"SELECT 1 FROM {name} LIMIT 0").close()  # noqa: S608  # our names


def run(request: dict[str, Any], seal: Callable[[], None] | None = None) -> dict[str, Any]:
    """Run the request's query.

    Args:
        request: `path` (None: no tables), `query`, `max_rows`, `max_bytes` (of all cells, about),
            `cell_chars` (None keeps cells whole), `error_chars`.
        seal: Called once the database is open, before the query is looked at.

    Returns:
        `{"columns", "rows", "more"}`, `{"rowcount"}` for a statement that has no rows to give, or
        `{"error", "kind"}`. A cell is null, a number or text; `{"text", "length"}` is a text cut
        to `cell_chars`, `{"blob", "length"}` the hexadecimal digits of a blob, cut alike.
    """
    path = None if request["path"] is None else Path(request["path"])
    if path is not None and not path.is_file():
        return {"error": f"database file not found at {path.name}", "kind": "missing"}
    guard = Guard()
    try:
        connection = open_database(path)
        _prepare(connection)
        connection.set_authorizer(guard)
        if seal is not None:
            seal()
        return _fetch(connection, request)
    except MemoryError:
        return OUT_OF_MEMORY
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as exc:
        # Since Python 3.12 two statements are a ProgrammingError, before that a Warning; a lone
        # surrogate or a NUL in the text is a ValueError.
        if guard.refused is not None:
            return {"error": guard.refused, "kind": "refused"}
        return {"error": str(exc)[: request["error_chars"]], "kind": "error"}


def _fetch(connection: sqlite3.Connection, request: dict[str, Any]) -> dict[str, Any]:
    cell_chars: int | None = request["cell_chars"]
    cursor = connection.execute(request["query"])
    if cursor.description is None:
        return {"rowcount": cursor.rowcount}
    names = [column[0] for column in cursor.description]
    rows: list[list[Any]] = []
    size = 0
    more = False
    for row in cursor:
        cells = [_cell(value, cell_chars) for value in row]
        size += sum(_size(cell) for cell in cells)
        if len(rows) == request["max_rows"] or (rows and size > request["max_bytes"]):
            more = True
            break
        rows.append(cells)
    return {"columns": [_cell(name, cell_chars) for name in names], "rows": rows, "more": more}


def _cell(value: Any, cell_chars: int | None) -> Any:
    if isinstance(value, bytes):
        return {"blob": value[:cell_chars].hex(), "length": len(value)}
    if isinstance(value, str) and cell_chars is not None and len(value) > cell_chars:
        return {"text": value[:cell_chars], "length": len(value)}
    return value


def _size(cell: Any) -> int:
    if isinstance(cell, dict):
        cut = cast("dict[str, str]", cell)
        return _CELL_OVERHEAD + len(cut["text"] if "text" in cut else cut["blob"])
    return _CELL_OVERHEAD + (len(cell) if isinstance(cell, str) else 0)


def confine(cpu_s: int) -> None:
    """Take from this process what a query does not need, whatever SQLite lets through.

    Args:
        cpu_s: Seconds of processor time after which the kernel ends it, should its parent be gone.
    """
    os.umask(0o777)
    _lower(resource.RLIMIT_AS, MEMORY_LIMIT_BYTES)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, cpu_s)


def seal_files() -> None:
    """Let this process open no further file: the next free descriptor is out of its limit."""
    probe = os.dup(0)
    os.close(probe)
    _lower(resource.RLIMIT_NOFILE, probe)


def _lower(limit: int, value: int) -> None:
    hard = resource.getrlimit(limit)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (bound, bound))


def main() -> None:
    """Read the request, run it, write the reply."""
    request = json.loads(sys.stdin.buffer.read())
    confine(request["cpu_s"])
    try:
        reply = json.dumps(run(request, seal_files)).encode()
    except MemoryError:
        reply = json.dumps(OUT_OF_MEMORY).encode()
    sys.stdout.buffer.write(reply)


if __name__ == "__main__":
    main()
