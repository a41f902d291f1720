"""Databases of tests, and SQL tools served in process."""

from __future__ import annotations

import sqlite3
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from mcp.client.client import Client

from hil_mcp.server import build_server
from hil_mcp.sql.runner import AGENT_LIMITS, SqlLimits, SqlRunner
from hil_mcp.tools.execute_sql import execute_sql
from tests.support.judges import ScriptedJudge
from tests.support.sessions import make_session

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from hil_mcp.session import Session
    from hil_mcp.tools.tool import Tool

HARBOUR = """
CREATE TABLE boats(id INTEGER PRIMARY KEY, name TEXT, speed REAL, crew INTEGER);
INSERT INTO boats VALUES (1, 'Ida', 7.5, 2), (2, 'Karl', NULL, NULL), (3, 'Nora', 12.25, 5);
CREATE TABLE Trips(boat_id INTEGER, day TEXT);
INSERT INTO Trips VALUES (1, '2025-01-02'), (3, '2025-01-02'), (3, '2025-01-05');
"""


def make_database(path: Path, script: str = HARBOUR) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


@asynccontextmanager
async def served(folder: Path, tools: Sequence[Tool]) -> AsyncGenerator[Client]:
    """An agent's connection to a server with these tools, both in this process."""
    session = make_session(folder / "session.jsonl", ScriptedJudge([]))
    async with served_session(session, tools) as client:
        yield client


@asynccontextmanager
async def served_session(session: Session, tools: Sequence[Tool]) -> AsyncGenerator[Client]:
    """An agent's connection to the server of one session."""
    async with Client(build_server(session, tools), mode="legacy") as client:
        yield client
    await session.close("disconnected")


@asynccontextmanager
async def querying(
    database_path: Path, folder: Path, limits: SqlLimits = AGENT_LIMITS
) -> AsyncGenerator[Client]:
    """An agent with `execute_sql` on one database."""
    with anyio.fail_after(60):
        async with (
            SqlRunner(database_path, limits) as runner,
            served(folder, [execute_sql(runner)]) as client,
        ):
            yield client


async def reply_to(client: Client, tool: str, **arguments: object) -> str:
    """The text of a reply that is no error result."""
    result = await client.call_tool(tool, dict(arguments))
    assert not result.is_error, text_of(result)
    return text_of(result)


def text_of(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text
