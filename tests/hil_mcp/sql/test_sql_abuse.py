"""What an agent might send to `execute_sql` to get out of its bounds, over MCP, with controls."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from hil_mcp.sql.reply import REPLY_LIMIT_BYTES
from hil_mcp.sql.runner import SqlLimits
from hil_mcp.sql.worker import LENGTH_LIMIT_BYTES
from task_store.records import SqlEnvironment
from task_store.store import TaskStore
from tests.support.servers import serve_command
from tests.support.sql_attacks import ATTACKS, SECRET, SETUP, Attack, Effect
from tests.support.sql_tasks import make_database, querying, reply_to
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_DONE = "Query executed successfully"
_SHORT = SqlLimits(deadline_s=0.5, wait_s=30.0, max_parallel=4)
_LONG = SqlLimits(deadline_s=30.0, wait_s=30.0, max_parallel=4)

# The first words of a reply that keeps the bounds.
_EXPECTED: dict[Effect, tuple[str, ...]] = {
    Effect.WRITES: ("Error: ",),
    Effect.TEMPORARY: ("Error: ",),
    Effect.SETS: ("Error: not authorized: ",),
    Effect.LOCKS: (f"{_DONE}. -1 rows affected.",),
    Effect.CALLS: ("Error: not authorized: function load_extension", "Error: no such function: "),
    Effect.TELLS: ("Error: ",),
    Effect.ENDLESS: ("Error: the query ran longer than 0.5 s", "Error: out of memory"),
    # SQLite's printf gives NULL instead of an error.
    Effect.HUGE: ("Error: string or blob too big", "Error: out of memory", _DONE),
    Effect.FLOODS: (_DONE,),
    Effect.ODD: (_DONE, "Error: Could not decode to UTF-8 column"),
}


def test_there_are_at_least_150_attacks() -> None:
    assert len({attack.sql for attack in ATTACKS}) >= 150
    assert {attack.effect for attack in ATTACKS} == set(Effect)


async def test_no_attack_gets_through_a_server_process(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "task"
    database = _make_folder(folder)
    task = make_task("a", task_id="attacked")
    store = TaskStore(home)
    assert isinstance(task.environment, SqlEnvironment)
    store.add(task, {task.environment.database.name: database})
    stored = store.artefact_path(store.get("attacked").artefacts[0]).parent
    before = _contents(folder), _contents(stored)
    # What runs into its deadline is tried in process, where the deadline can be short.
    attacks = [attack for attack in ATTACKS if attack.effect is not Effect.ENDLESS]
    through: dict[str, str] = {}
    program, *arguments = serve_command("--task", "attacked", "--mode", "baseline")
    server = StdioServerParameters(
        command=program, args=arguments, env={**os.environ, "HIL_MCP_HOME": str(home)}
    )

    with anyio.fail_after(120):
        async with Client(server, mode="legacy") as client:
            for attack in attacks:
                sql = _filled(attack.sql, folder)
                reply = await reply_to(client, "execute_sql", query=sql)
                if not _keeps_the_bounds(attack.effect, sql, reply, folder):
                    through[sql[:200]] = reply[:200]

    assert len(attacks) >= 150
    assert through == {}
    assert (_contents(folder), _contents(stored)) == before


def _keeps_the_bounds(effect: Effect, sql: str, reply: str, folder: Path) -> bool:
    return (
        reply.startswith(_EXPECTED[effect])
        and len(reply.encode()) <= REPLY_LIMIT_BYTES
        and SECRET not in reply
        and str(folder) not in reply.replace(sql, "")
    )


@pytest.mark.parametrize("effect", Effect, ids=lambda effect: effect.name.lower())
async def test_no_attack_gets_through(effect: Effect, tmp_path: Path) -> None:
    folder = tmp_path / "task"
    database = _make_folder(folder)
    before = _contents(folder)
    limits = _SHORT if effect is Effect.ENDLESS else _LONG
    replies: dict[str, str] = {}

    async def send(sql: str) -> None:
        replies[sql] = await reply_to(client, "execute_sql", query=sql)

    async with (
        querying(database, tmp_path, limits) as client,
        anyio.create_task_group() as tasks,
    ):
        for attack in _of(effect):
            tasks.start_soon(send, _filled(attack.sql, folder))

    through = {
        sql[:200]: reply[:200]
        for sql, reply in replies.items()
        if not _keeps_the_bounds(effect, sql, reply, folder)
    }
    assert through == {}
    assert len(replies) == len(_of(effect))
    assert _contents(folder) == before
    _lock_and_let_go(database)


@pytest.mark.parametrize("effect", Effect, ids=lambda effect: effect.name.lower())
def test_every_attack_works_where_nothing_guards(effect: Effect, tmp_path: Path) -> None:
    original = tmp_path / "original"
    _make_folder(original)
    harmless: list[str] = []

    for number, attack in enumerate(_of(effect)):
        folder = tmp_path / str(number)
        shutil.copytree(original, folder)
        try:
            if not _CONTROLS[effect](attack, folder):
                harmless.append(attack.sql[:200])
        except sqlite3.OperationalError:
            if not attack.needs_build_option:
                raise
        shutil.rmtree(folder)

    assert harmless == []


def _of(effect: Effect) -> list[Attack]:
    return [attack for attack in ATTACKS if attack.effect is effect]


def _make_folder(folder: Path) -> Path:
    folder.mkdir()
    make_database(folder / "other.sqlite", f"CREATE TABLE secrets AS SELECT '{SECRET}' AS secret")
    return make_database(folder / "task.sqlite", SETUP)


def _filled(sql: str, folder: Path) -> str:
    return sql.replace("{new}", str(folder / "new")).replace(
        "{other}", str(folder / "other.sqlite")
    )


def _contents(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def _unguarded(folder: Path) -> closing[sqlite3.Connection]:
    return closing(
        sqlite3.connect(
            f"{(folder / 'task.sqlite').as_uri()}", uri=True, isolation_level=None, timeout=0
        )
    )


def _lock_and_let_go(database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None, timeout=0)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")


def _writes(attack: Attack, folder: Path) -> bool:
    before = _contents(folder)
    with _unguarded(folder) as connection:
        connection.executescript(_filled(attack.sql, folder))
        return _contents(folder) != before


def _makes_temporary(attack: Attack, folder: Path) -> bool:
    with _unguarded(folder) as connection:
        connection.executescript(attack.sql)
        return connection.execute("SELECT count(*) FROM sqlite_temp_master").fetchone()[0] > 0


def _is_accepted(attack: Attack, folder: Path) -> bool:
    with _unguarded(folder) as connection:
        connection.executescript(_filled(attack.before, folder))
        connection.execute(_filled(attack.sql, folder)).fetchall()
        return True


def _locks(attack: Attack, folder: Path) -> bool:
    with _unguarded(folder) as connection, _unguarded(folder) as other:
        connection.execute(attack.sql)
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


def _calls(attack: Attack, folder: Path) -> bool:
    called: list[Sequence[object]] = []

    def record(*arguments: object) -> None:
        called.append(arguments)

    with _unguarded(folder) as connection:
        for name in ("load_extension", "readfile", "writefile", "edit"):
            for n_arguments in (1, 2):
                connection.create_function(name, n_arguments, record)
        connection.execute(_filled(attack.sql, folder)).fetchall()
    return bool(called)


def _tells(attack: Attack, folder: Path) -> bool:
    with _unguarded(folder) as connection:
        return bool(connection.execute(attack.sql).fetchall())


def _is_endless(attack: Attack, folder: Path) -> bool:
    with _unguarded(folder) as connection:
        connection.set_progress_handler(lambda: 1, 1_000_000)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(attack.sql).fetchall()
        return True


def _size(value: object) -> int:
    return len(value) if isinstance(value, str | bytes) else 8


def _is_huge(attack: Attack, folder: Path) -> bool:
    with _unguarded(folder) as connection:
        row = connection.execute(attack.sql).fetchone()
        return sum(_size(value) for value in row) > LENGTH_LIMIT_BYTES


def _floods(attack: Attack, folder: Path) -> bool:
    with _unguarded(folder) as connection:
        cursor = connection.execute(attack.sql)
        size = sum(len(column[0]) for column in cursor.description)
        for row in cursor:
            size += sum(_size(value) for value in row)
            if size > REPLY_LIMIT_BYTES:
                return True
        return False


def _gives_rows(attack: Attack, folder: Path) -> bool:
    with _unguarded(folder) as connection:
        connection.text_factory = bytes
        return bool(connection.execute(attack.sql).fetchall())


_CONTROLS: dict[Effect, Callable[[Attack, Path], bool]] = {
    Effect.WRITES: _writes,
    Effect.TEMPORARY: _makes_temporary,
    Effect.SETS: _is_accepted,
    Effect.LOCKS: _locks,
    Effect.CALLS: _calls,
    Effect.TELLS: _tells,
    Effect.ENDLESS: _is_endless,
    Effect.HUGE: _is_huge,
    Effect.FLOODS: _floods,
    Effect.ODD: _gives_rows,
}
