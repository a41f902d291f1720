"""`submit_sql` over MCP: kept word for word, and told when it does not parse."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from hil_mcp.events import Submission
from hil_mcp.session_reader import read_session
from hil_mcp.sql.runner import SqlRunner
from hil_mcp.tools.submit_sql import submit_sql
from tests.support.judges import ScriptedJudge
from tests.support.sessions import make_session
from tests.support.sql_tasks import make_database, reply_to, served_session, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from mcp.client.client import Client

DOES_NOT_PARSE = "This does not parse as one SELECT statement"


@asynccontextmanager
async def submitting(folder: Path) -> AsyncGenerator[Client]:
    session = make_session(folder / "session.jsonl", ScriptedJudge([]))

    async def submit(query: str) -> None:
        await session.submit("sql", query)

    async with (
        SqlRunner(make_database(folder / "harbour.sqlite")) as runner,
        served_session(session, [submit_sql(submit, runner)]) as client,
    ):
        yield client


def submissions(folder: Path) -> list[str | None]:
    return [event.content for event in read_session(folder / "session.jsonl").of(Submission)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
        "  SELECT name FROM boats;  -- all; of them\n",
        "WITH w AS (SELECT 1) SELECT * FROM w",
        "VALUES (1)",
        "/* ; */ SELECT ';'",
        "SELECT mast FROM ships",  # whether it runs is not told: names are not given away
        "SELECT 'it''s', \"col\", $$, '\nENDOFSQL\n', 'a\\'''",
    ],
)
async def test_a_query_is_received_as_it_is(tmp_path: Path, query: str) -> None:
    async with submitting(tmp_path) as client:
        reply = await reply_to(client, "submit_sql", query=query)

    assert reply == f"Submission received:\n{query}"
    assert submissions(tmp_path) == [query]


@pytest.mark.parametrize(
    "query",
    [
        "```sql\nSELECT 2\n```",
        "SELECT 1; SELECT 2",
        "SELECT a FROM nowhere; SELECT 2",
        "SELECT (1",
        "SELECT 'open",
        "DELETE FROM boats",
        "PRAGMA user_version",
        "EXPLAIN SELECT 1",
        "BEGIN",
        "-- nothing",
        "The answer is 42.",
        "SELECT 'a\x00b'",
    ],
)
async def test_a_text_that_is_no_query_is_kept_and_the_agent_is_told(
    tmp_path: Path, query: str
) -> None:
    async with submitting(tmp_path) as client:
        reply = await reply_to(client, "submit_sql", query=query)

    assert reply.startswith(f"Submission received:\n{query}\n\n{DOES_NOT_PARSE}")
    assert submissions(tmp_path) == [query]


async def test_every_submission_is_kept_and_the_last_is_last(tmp_path: Path) -> None:
    async with submitting(tmp_path) as client:
        for query in ("SELECT 1", "```sql\nSELECT 2\n```"):
            await reply_to(client, "submit_sql", query=query)

    assert submissions(tmp_path) == ["SELECT 1", "```sql\nSELECT 2\n```"]


@pytest.mark.parametrize("query", ["", "  \n\t "])
async def test_an_empty_submission_is_refused(tmp_path: Path, query: str) -> None:
    async with submitting(tmp_path) as client:
        result = await client.call_tool("submit_sql", {"query": query})

    assert result.is_error
    assert text_of(result).startswith("Error: ")
    assert submissions(tmp_path) == []


async def test_a_long_submission_is_kept_whole_and_repeated_in_part(tmp_path: Path) -> None:
    query = f"SELECT '{'x' * 100_000}'"

    async with submitting(tmp_path) as client:
        reply = await reply_to(client, "submit_sql", query=query)

    assert submissions(tmp_path) == [query]
    assert reply.endswith("x… [92009 more]")
    assert len(reply) < 10_000
