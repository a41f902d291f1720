"""`execute_sql` over MCP: the released replies, the limits, and what others do meanwhile."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from hil_mcp.sql.outcome import ResultSet, SqlFailure, SqlOutcome
from hil_mcp.sql.reply import REPLY_LIMIT_BYTES
from hil_mcp.sql.runner import SqlLimits, SqlRunner
from hil_mcp.tools.ask_human import ask_human
from hil_mcp.tools.execute_sql import execute_sql
from tests.support.judges import RuleJudge
from tests.support.sessions import make_session
from tests.support.sql_tasks import (
    make_database,
    querying,
    reply_to,
    served_session,
    text_of,
)

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
DONE = "Query executed successfully"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return make_database(tmp_path / "harbour.sqlite")


@pytest.mark.parametrize(
    ("query", "reply"),
    [
        ("SELECT id, name FROM boats", f"{DONE}:\nid,name\n1,Ida\n2,Karl\n3,Nora\n"),
        ("SELECT 1 WHERE 0", f"{DONE}. No results returned."),
        ("", f"{DONE}. -1 rows affected."),
        ("-- nothing", f"{DONE}. -1 rows affected."),
        ("BEGIN", f"{DONE}. -1 rows affected."),
        ("SELECT * FROM nowhere", "Error: no such table: nowhere"),
        ("SELEC 1", 'Error: near "SELEC": syntax error'),
        ("DELETE FROM boats", "Error: attempt to write a readonly database"),
        ("SELECT 1; SELECT 2", "Error: You can only execute one statement at a time."),
        ("SELECT 1; -- one", f"{DONE}:\n1\n1\n"),
        ("SELECT '; ' AS a -- ; SELECT 2", f"{DONE}:\na\n; \n"),
    ],
)
async def test_replies_are_the_released_strings(
    database: Path, tmp_path: Path, query: str, reply: str
) -> None:
    async with querying(database, tmp_path) as client:
        assert await reply_to(client, "execute_sql", query=query) == reply


@pytest.mark.parametrize(
    ("query", "csv"),
    [
        ("SELECT crew FROM boats", 'crew\n2.0\n""\n5.0\n'),
        ("SELECT id, crew FROM boats", "id,crew\n1,2.0\n2,\n3,5.0\n"),
        ("SELECT speed FROM boats WHERE id <> 2", "speed\n7.5\n12.25\n"),
        ("SELECT 1 AS a UNION ALL SELECT 2.5", "a\n1.0\n2.5\n"),
        ("SELECT 1 AS a UNION ALL SELECT 'x'", "a\n1\nx\n"),
        ("SELECT NULL AS a", 'a\n""\n'),
        ("SELECT x'00ff' AS a, 'b' AS b", "a,b\nb'\\x00\\xff',b\n"),
        ("SELECT 1 AS a, 2 AS a", "a,a\n1,2\n"),
        ("SELECT 9e999 AS a, -9e999 AS b, 9e999 - 9e999 AS c", "a,b,c\ninf,-inf,\n"),
        ("SELECT 9007199254740993 AS a UNION ALL SELECT NULL", 'a\n9007199254740992.0\n""\n'),
        ("SELECT 1e16 AS a, 1e-7 AS b, 0.1 + 0.2 AS c", "a,b,c\n1e+16,1e-07,0.30000000000000004\n"),
        ("SELECT 'a,b' AS a, 'say \"x\"' AS b", 'a,b\n"a,b","say ""x"""\n'),
        ("SELECT 'Zoë' AS \"n,m\"", '"n,m"\nZoë\n'),
    ],
)
async def test_rows_print_as_the_released_tool_prints_them(
    database: Path, tmp_path: Path, query: str, csv: str
) -> None:
    async with querying(database, tmp_path) as client:
        assert await reply_to(client, "execute_sql", query=query) == f"{DONE}:\n{csv}"


@pytest.mark.parametrize(("n_rows", "is_truncated"), [(200, False), (201, True), (300, True)])
async def test_two_hundred_rows_are_shown(
    database: Path, tmp_path: Path, n_rows: int, is_truncated: bool
) -> None:
    query = f"{ENDLESS.removesuffix('count(*) FROM c')} x FROM c LIMIT {n_rows}"

    async with querying(database, tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query=query)

    first_line, *rows = reply.splitlines()
    expected = ". Result truncated to the first 200 rows:" if is_truncated else ":"
    assert first_line == DONE + expected
    assert rows == ["x", *map(str, range(1, 201))]


async def test_an_endless_result_is_read_no_further_than_its_first_rows(
    database: Path, tmp_path: Path
) -> None:
    query = ENDLESS.replace("count(*)", "x")

    async with querying(database, tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query=query)

    assert reply.startswith(f"{DONE}. Result truncated to the first 200 rows:\nx\n1\n")


async def test_a_large_result_is_cut_between_rows_and_says_so(
    database: Path, tmp_path: Path
) -> None:
    query = "SELECT a.id, printf('%.*c', 3000, 'x') FROM boats a, boats b, boats c"

    async with querying(database, tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query=query)

    first_line, *rows = reply.splitlines()
    assert first_line == (
        f"{DONE}. Result truncated to the first 10 of 27 rows, "
        f"since a reply holds {REPLY_LIMIT_BYTES} bytes:"
    )
    assert len(rows) == 11
    assert all(row.endswith("," + "x" * 3000) for row in rows[1:])
    assert len(reply.encode()) <= REPLY_LIMIT_BYTES


async def test_a_long_cell_is_cut_and_says_so(database: Path, tmp_path: Path) -> None:
    query = "SELECT printf('%.*c', 5000000, 'x') AS a, zeroblob(9000000) AS b, 'end' AS c"

    async with querying(database, tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query=query)

    assert "x… [4000 of 5000000 characters]" in reply
    assert "… [4000 of 9000000 bytes]" in reply
    assert reply.endswith(",end\n")


async def test_a_row_of_many_long_cells_is_cut_further(database: Path, tmp_path: Path) -> None:
    cells = ", ".join(["printf('%.*c', 3000, 'x')"] * 20)

    async with querying(database, tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query=f"SELECT {cells}")

    assert reply.count("… [400 of 3000 characters]") == 20


async def test_a_row_that_can_not_be_cut_enough_says_what_to_do(
    database: Path, tmp_path: Path
) -> None:
    columns = ", ".join(f"{n} AS long_name_of_column_{n}" for n in range(2000))

    async with querying(database, tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query=f"SELECT {columns}")

    assert reply == (
        f"{DONE}. Its first row does not fit in a reply of {REPLY_LIMIT_BYTES} bytes: "
        "select fewer of its 2000 columns."
    )


async def test_a_huge_value_is_a_clear_error(database: Path, tmp_path: Path) -> None:
    query = "SELECT zeroblob(1000000000), printf('%.*c', 5000000, 'x')"

    async with querying(database, tmp_path) as client:
        assert await reply_to(client, "execute_sql", query=query) == (
            "Error: string or blob too big"
        )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'it''s', \"name\", '$$', '\nENDOFSQL\n', 'a\\''' FROM boats WHERE id = 1",
        "SELECT '\u2028', '\U0001f600', '\ufeff', '\t', '--', '/*' AS \"*/\"",
    ],
)
async def test_a_query_reaches_sqlite_as_it_was_sent(
    database: Path, tmp_path: Path, query: str
) -> None:
    with closing(sqlite3.connect(database)) as connection:
        (expected,) = connection.execute(query).fetchall()

    async with SqlRunner(database) as runner:
        outcome = await runner.execute(query)

    assert isinstance(outcome, ResultSet)
    assert outcome.rows == (expected,)


@pytest.mark.parametrize("text", ["SELECT 'a\x00b'", "SELECT '\ud800'"])
async def test_a_text_that_sqlite_cannot_take_is_an_error(database: Path, text: str) -> None:
    async with SqlRunner(database) as runner:
        outcome = await runner.execute(text)

    assert isinstance(outcome, SqlFailure)
    assert outcome.kind == "error"


@pytest.mark.parametrize("arguments", [{}, {"query": ["SELECT 1"]}, {"sql": "SELECT 1"}])
async def test_wrong_arguments_are_an_error_that_names_them(
    database: Path, tmp_path: Path, arguments: dict[str, object]
) -> None:
    async with querying(database, tmp_path) as client:
        result = await client.call_tool("execute_sql", arguments)

    assert result.is_error
    assert "'query'" in text_of(result)


async def test_a_database_in_wal_mode_opens_without_its_side_files(
    database: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    folder = tmp_path / "read-only"
    folder.mkdir()
    alone = Path(shutil.copy(database, folder))
    folder.chmod(0o500)

    async with querying(alone, tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query="SELECT name FROM boats")

    assert reply == f"{DONE}:\nname\nIda\nKarl\nNora\n"
    assert [path.name for path in folder.iterdir()] == [alone.name]
    folder.chmod(0o700)


async def test_a_database_that_another_process_has_locked_is_read(
    database: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        async with querying(database, tmp_path) as client:
            reply = await reply_to(client, "execute_sql", query="SELECT count(*) AS n FROM boats")

    assert reply == f"{DONE}:\nn\n3\n"


async def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    path.write_text("These are notes and no database. " * 100)

    async with querying(path, tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query="SELECT 1")

    assert reply == "Error: file is not a database"


async def test_a_missing_file_is_named_without_its_folder(tmp_path: Path) -> None:
    async with querying(tmp_path / "gone.sqlite", tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query="SELECT 1")

    assert reply == "Error: database file not found at gone.sqlite"


async def test_sixteen_calls_at_once_all_get_their_own_rows(database: Path, tmp_path: Path) -> None:
    replies: dict[int, str] = {}

    async with querying(database, tmp_path) as client, anyio.create_task_group() as tasks:

        async def call(number: int) -> None:
            query = f"SELECT {number} AS n, count(*) AS boats FROM boats"
            replies[number] = await reply_to(client, "execute_sql", query=query)

        for number in range(16):
            tasks.start_soon(call, number)

    assert replies == {n: f"{DONE}:\nn,boats\n{n},3\n" for n in range(16)}


async def test_a_question_is_answered_while_a_query_runs(database: Path, tmp_path: Path) -> None:
    session = make_session(tmp_path / "session.jsonl", RuleJudge(lambda _: "a"))
    order: list[str] = []

    async with (
        SqlRunner(database, SqlLimits(deadline_s=1.0)) as runner,
        served_session(session, [ask_human(session), execute_sql(runner)]) as client,
        anyio.create_task_group() as tasks,
    ):

        async def call(tool: str, **arguments: str) -> None:
            order.append(await reply_to(client, tool, **arguments))

        tasks.start_soon(lambda: call("execute_sql", query=ENDLESS))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(lambda: call("ask_human", question="What does a mean?"))

    assert order == [
        "Answer for a.",
        "Error: the query ran longer than 1 s and was stopped",
    ]


async def test_a_query_that_finds_no_turn_is_told_so(database: Path) -> None:
    limits = SqlLimits(deadline_s=0.5, wait_s=0.05, max_parallel=1)
    outcomes: list[str] = []

    async with SqlRunner(database, limits) as runner, anyio.create_task_group() as tasks:

        async def call() -> None:
            outcome = await runner.execute(ENDLESS)
            assert isinstance(outcome, SqlFailure)
            outcomes.append(outcome.kind)

        tasks.start_soon(call)
        tasks.start_soon(call)

    assert outcomes == ["busy", "timeout"]


async def test_a_query_that_was_just_beginning_ends_with_its_session(database: Path) -> None:
    outcomes: list[SqlOutcome] = []

    async def call(runner: SqlRunner) -> None:
        outcomes.append(await runner.execute(ENDLESS))

    with anyio.fail_after(20):  # less than the query would run
        async with anyio.create_task_group() as tasks, SqlRunner(database) as runner:
            tasks.start_soon(call, runner)
            await anyio.lowlevel.checkpoint()

    (outcome,) = outcomes
    assert isinstance(outcome, SqlFailure)
    assert "its session has ended" in outcome.message


async def test_no_worker_is_left_when_a_call_is_given_up(database: Path) -> None:
    async with SqlRunner(database) as runner:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.execute, ENDLESS)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

        assert len(_workers()) <= 1  # the one that waits for the next query
    assert _workers() == []


async def test_leaving_the_runner_ends_queries_that_run(database: Path) -> None:
    outcomes: list[object] = []
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                outcomes.append(await runner.execute(ENDLESS))

            async with SqlRunner(database) as runner:
                tasks.start_soon(call)
                await anyio.wait_all_tasks_blocked()

    assert [type(outcome) for outcome in outcomes] == [SqlFailure]
    assert _workers() == []


async def test_a_worker_that_cannot_run_is_our_failure_and_not_the_query_s(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/true")

    async with SqlRunner(database) as runner:
        outcome = await runner.execute("SELECT 1")

    assert outcome == SqlFailure(message="the query could not be run", kind="crash")


async def test_memory_is_bounded(database: Path, tmp_path: Path) -> None:
    query = (
        "WITH RECURSIVE c(n, x) AS (SELECT 1, zeroblob(9000000) UNION ALL "
        "SELECT n + 1, zeroblob(9000000) FROM c WHERE n < 200) SELECT x FROM c ORDER BY x"
    )

    async with querying(database, tmp_path) as client:
        reply = await reply_to(client, "execute_sql", query=query)

    assert reply.startswith("Error: out of memory")


def _workers() -> list[int]:
    """Processes that this one started and that run the worker."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            command = folder.joinpath("cmdline").read_bytes()
        except OSError:  # ended meanwhile
            continue
        if int(parent) == os.getpid() and b"worker.py" in command:
            found.append(int(folder.name))
    return found
