"""The schema tools over MCP: descriptions as they come, and the database's own schema."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from hil_mcp.sql.descriptions import TaskSchema
from hil_mcp.sql.runner import SqlRunner
from hil_mcp.tools.get_column_info import get_column_info
from hil_mcp.tools.get_database_info import get_database_info
from hil_mcp.tools.get_table_info import get_table_info
from tests.support.sql_tasks import make_database, reply_to, served, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from mcp.client.client import Client

TABLES = "table_name,table_description\nboats,All boats\nTrips,What they did\n"
BOATS = (
    "original_column_name,combined_description,data_format\n"
    'id,The number,integer\nname,"Its name, as painted",text\n'
)


@asynccontextmanager
async def describing(folder: Path, **files: str | bytes) -> AsyncGenerator[Client]:
    """An agent with the schema tools of `harbour`; keys name the CSVs without their ending."""
    paths: dict[str, Path] = {}
    for stem, content in files.items():
        path = folder / f"{stem}.description"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths[f"{stem}.csv"] = path
    database = make_database(folder / "harbour.sqlite")
    async with SqlRunner(database) as runner:
        schema = TaskSchema("harbour", paths, runner)
        tools = [get_database_info(schema), get_table_info(schema), get_column_info(schema)]
        async with served(folder, tools) as client:
            yield client


async def database_info(client: Client) -> dict[str, str]:
    return json.loads(await reply_to(client, "get_database_info", database_name="harbour"))


async def table_info(client: Client, table: str) -> str:
    return await reply_to(client, "get_table_info", database_name="harbour", table_name=table)


async def column_info(client: Client, table: str, column: str) -> str:
    return await reply_to(
        client, "get_column_info", database_name="harbour", table_name=table, column_name=column
    )


async def test_descriptions_are_given_as_compact_json(tmp_path: Path) -> None:
    async with describing(tmp_path, table_descriptions=TABLES, boats=BOATS) as client:
        tables = await reply_to(client, "get_database_info", database_name="harbour")
        boats = await table_info(client, "boats")
        name = await column_info(client, "boats", "name")

    assert tables == '{"boats":"All boats","Trips":"What they did"}'
    assert boats == '{"description":"All boats","columns":["id","name"]}'
    assert name == '{"description":"Its name, as painted","data_type":"text"}'


@pytest.mark.parametrize(
    ("table", "column"), [("boats", "name"), ("Boats", "Name"), (" BOATS ", "NAME ")]
)
async def test_names_are_found_in_any_case(tmp_path: Path, table: str, column: str) -> None:
    async with describing(tmp_path, table_descriptions=TABLES, boats=BOATS) as client:
        described = json.loads(await table_info(client, table))
        name = json.loads(await column_info(client, table, column))

    assert described["description"] == "All boats"
    assert name["description"] == "Its name, as painted"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbf" + TABLES.encode(), "All boats"),
        (b"table_name,table_description\r\nboats,caf\xe9 \x93boats\x94\r\n", "café “boats”"),
        (b" Table_Name , TABLE_DESCRIPTION \n boats , All boats \n", "All boats"),
        (b"table_name\nboats\n", ""),
        (b"table_name,table_description,more\nboats\n,\n", ""),
        (b'table_name,table_description\nboats,"two\nlines"\n', "two\nlines"),
    ],
    ids=["bom", "cp1252", "padded", "no-description", "short-rows", "line-break"],
)
async def test_description_files_are_read_as_they_come(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    async with describing(tmp_path, table_descriptions=content) as client:
        assert (await database_info(client))["boats"] == expected


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"nothing,of,use\n1,2,3\n", b"table_name\n" + b"x" * 200_000 + b"\n"],
    ids=["empty", "blank", "other-columns", "too-long-for-a-field"],
)
async def test_without_a_usable_file_the_schema_itself_is_told(
    tmp_path: Path, content: bytes
) -> None:
    async with describing(tmp_path, table_descriptions=content) as client:
        tables = await database_info(client)
        boats = json.loads(await table_info(client, "boats"))
        speed = json.loads(await column_info(client, "boats", "speed"))

    assert tables == {"boats": "", "Trips": ""}
    assert boats["columns"] == ["id", "name", "speed", "crew"]
    assert speed == {"description": "", "data_type": "REAL"}


async def test_a_table_without_a_file_of_its_own_shows_its_schema(tmp_path: Path) -> None:
    async with describing(tmp_path, table_descriptions=TABLES, boats=BOATS) as client:
        trips = json.loads(await table_info(client, "trips"))

    assert trips == {"description": "What they did", "columns": ["boat_id", "day"]}


async def test_a_wrong_database_is_told_the_right_one(tmp_path: Path) -> None:
    expected = "Error: database marina doesn't exist. The database of this task is 'harbour'."
    names = {"database_name": "marina", "table_name": "boats", "column_name": "id"}

    async with describing(tmp_path, table_descriptions=TABLES, boats=BOATS) as client:
        for tool, count in (
            ("get_database_info", 1),
            ("get_table_info", 2),
            ("get_column_info", 3),
        ):
            arguments = dict(list(names.items())[:count])
            assert await reply_to(client, tool, **arguments) == expected


async def test_unknown_names_get_the_released_texts(tmp_path: Path) -> None:
    async with describing(tmp_path, table_descriptions=TABLES, boats=BOATS) as client:
        assert await table_info(client, "ships") == (
            "Error: table ships in database harbour doesn't exist"
        )
        assert await column_info(client, "ships", "id") == (
            "Error: table ships in database harbour doesn't exist"
        )
        assert await column_info(client, "boats", "mast") == (
            "Error: column mast in table boats in database harbour doesn't exist"
        )


@pytest.mark.parametrize(
    "table", ["../../etc/passwd", "/etc/passwd", "../secret", "boats/../secret", "secret\x00"]
)
async def test_a_path_is_no_table(tmp_path: Path, table: str) -> None:
    (tmp_path / "secret.csv").write_text(BOATS)

    async with describing(tmp_path, table_descriptions=TABLES) as client:
        reply = await table_info(client, table)

    assert reply == f"Error: table {table} in database harbour doesn't exist"


async def test_a_wrong_argument_is_named(tmp_path: Path) -> None:
    async with describing(tmp_path) as client:
        result = await client.call_tool("get_table_info", {"database_name": "harbour"})

    assert result.is_error
    assert "'table_name'" in text_of(result)


async def test_descriptions_stand_for_themselves_when_the_database_is_gone(tmp_path: Path) -> None:
    tables_path = tmp_path / "tables.csv"
    tables_path.write_text(TABLES)
    async with SqlRunner(tmp_path / "gone.sqlite") as runner:
        described = TaskSchema("harbour", {"table_descriptions.csv": tables_path}, runner)
        bare = TaskSchema("harbour", {"table_descriptions.csv": tmp_path / "gone.csv"}, runner)

        tables = (await described.describe()).tables
        async with served(tmp_path, [get_database_info(bare)]) as client:
            result = await client.call_tool("get_database_info", {"database_name": "harbour"})

    assert [table.name for table in tables] == ["boats", "Trips"]
    assert result.is_error


async def test_sixteen_agents_at_once_get_the_same_description(tmp_path: Path) -> None:
    replies: list[str] = []

    async with describing(tmp_path, table_descriptions=TABLES, boats=BOATS) as client:

        async def call() -> None:
            replies.append(await table_info(client, "trips"))

        async with anyio.create_task_group() as tasks:
            for _ in range(16):
                tasks.start_soon(call)

    assert replies == ['{"description":"What they did","columns":["boat_id","day"]}'] * 16


async def test_a_table_of_three_hundred_columns_is_described_whole(tmp_path: Path) -> None:
    columns = ", ".join(f"column_number_{n} TEXT" for n in range(300))
    database = make_database(tmp_path / "wide.sqlite", f"CREATE TABLE wide({columns})")

    async with SqlRunner(database) as runner:
        described = await TaskSchema("wide", {}, runner).describe()

    assert len(described.tables[0].columns) == 300
