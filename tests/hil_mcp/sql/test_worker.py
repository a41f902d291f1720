"""The guard of a query's process, seen from inside: what the tools cannot show from outside."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hil_mcp.sql import worker
from tests.support.sql_tasks import make_database


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return make_database(tmp_path / "harbour.sqlite")


def request(path: Path | None, query: str, **changes: object) -> dict[str, Any]:
    return {
        "path": None if path is None else str(path),
        "query": query,
        "max_rows": 3,
        "max_bytes": 10_000,
        "cell_chars": 10,
        "error_chars": 40,
        "cpu_s": 10,
        **changes,
    }


@pytest.mark.parametrize(
    ("query", "reply"),
    [
        ("SELECT 1 AS a", {"columns": ["a"], "rows": [[1]], "more": False}),
        ("BEGIN", {"rowcount": -1}),
        (
            "SELECT 'abcdefghijklm' AS a, x'00ff' AS b",
            {
                "columns": ["a", "b"],
                "rows": [[{"text": "abcdefghij", "length": 13}, {"blob": "00ff", "length": 2}]],
                "more": False,
            },
        ),
        (
            "SELECT 1 AS a_name_that_is_long",
            {"columns": [{"text": "a_name_tha", "length": 19}], "rows": [[1]], "more": False},
        ),
        ("SELECT id FROM boats, Trips", {"columns": ["id"], "rows": [[1], [1], [1]], "more": True}),
        ("DELETE FROM boats", {"error": worker.READONLY_MESSAGE, "kind": "refused"}),
        ("ATTACH 'x' AS y", {"error": "not authorized: ATTACH and VACUUM", "kind": "refused"}),
        (
            "SELECT * FROM a_table_whose_name_is_longer_than_an_error_may_be",
            {"error": "no such table: a_table_whose_name_is_lon", "kind": "error"},
        ),
        ("SELECT zeroblob(600000000)", {"error": "string or blob too big", "kind": "error"}),
        (
            "SELECT value FROM json_each('[5]')",
            {"columns": ["value"], "rows": [[5]], "more": False},
        ),
        (
            "SELECT name FROM pragma_table_info('Trips')",
            {"columns": ["name"], "rows": [["boat_id"], ["day"]], "more": False},
        ),
        (
            "PRAGMA foreign_key_list(Trips)",
            {
                "columns": [
                    *("id", "seq", "table", "from", "to", "on_update", "on_delete", "match")
                ],
                "rows": [],
                "more": False,
            },
        ),
    ],
)
def test_a_request_gets_its_reply(database: Path, query: str, reply: dict[str, object]) -> None:
    assert worker.run(request(database, query)) == reply


def test_rows_stop_at_the_size_of_all_cells(database: Path) -> None:
    reply = worker.run(request(database, "SELECT name FROM boats", max_bytes=20, cell_chars=None))

    assert reply["rows"] == [["Ida"]]
    assert reply["more"] is True


def test_without_a_path_there_are_no_tables() -> None:
    assert worker.run(request(None, "SELECT count(*) AS n FROM sqlite_master"))["rows"] == [[0]]


def test_a_missing_file_and_a_file_that_is_no_database_are_told_apart(tmp_path: Path) -> None:
    notes = tmp_path / "notes.sqlite"
    notes.write_bytes(b"no database " * 100)

    assert worker.run(request(tmp_path / "gone.sqlite", "SELECT 1")) == {
        "error": "database file not found at gone.sqlite",
        "kind": "missing",
    }
    assert worker.run(request(notes, "SELECT 1"))["error"] == "file is not a database"


@pytest.mark.parametrize("name", ["writefile", "readfile", "edit", "load_extension", "system"])
def test_a_function_that_is_there_is_refused_by_the_guard_alone(database: Path, name: str) -> None:
    called: list[str] = []
    with closing(worker.open_database(database)) as connection:
        connection.create_function(name, 1, called.append)
        connection.execute(f"SELECT {name}('before')").fetchall()
        guard = worker.Guard()
        connection.set_authorizer(guard)

        with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|prohibited"):
            connection.execute(f"SELECT {name}('after')").fetchall()

    assert called == ["before"]
    assert guard.refused == f"not authorized: function {name}"


@pytest.mark.parametrize("table", ["dbstat", "sqlite_stmt", "SQLITE_DBPAGE"])
def test_tables_behind_the_tables_are_refused(table: str) -> None:
    guard = worker.Guard()

    assert guard(sqlite3.SQLITE_READ, table, "name", "main", None) == sqlite3.SQLITE_DENY
    assert guard(sqlite3.SQLITE_READ, "boats", "name", "main", None) == sqlite3.SQLITE_OK


def test_an_action_that_is_not_known_is_refused() -> None:
    guard = worker.Guard()

    assert guard(999, None, None, None, None) == sqlite3.SQLITE_DENY
    assert guard.refused == "not authorized: action 999"


def test_a_process_can_write_no_file_and_open_none_once_it_is_confined(tmp_path: Path) -> None:
    """What stands behind the guard, should SQLite let something through."""
    script = f"""
import sys
sys.path.insert(0, {str(Path(worker.__file__).parent)!r})
import worker
before = open({str(tmp_path / "before")!r}, "w")
worker.confine(10)
for attempt in (
    lambda: (before.write("x"), before.flush()),
    lambda: bytearray(2 << 30),
    lambda: (worker.seal_files(), open({str(tmp_path / "after")!r}, "w")),
):
    try:
        attempt()
        print("done")
    except (OSError, MemoryError) as exc:
        print(type(exc).__name__, getattr(exc, "errno", None))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    assert done.stdout.split("\n")[:3] == ["OSError 27", "MemoryError None", "OSError 24"]
    assert not (tmp_path / "after").exists()
    assert (tmp_path / "before").read_text() == ""


def test_the_process_reads_one_request_and_writes_one_reply(database: Path) -> None:
    sent = json.dumps(request(database, "SELECT name FROM boats LIMIT 1"))

    done = subprocess.run(
        [sys.executable, "-I", "-S", worker.__file__],
        input=sent.encode(),
        capture_output=True,
        check=True,
    )

    assert json.loads(done.stdout)["rows"] == [["Ida"]]
