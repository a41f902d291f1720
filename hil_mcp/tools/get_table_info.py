"""`get_table_info`: the columns of one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.tools.schema_reply import DATABASE_NAME, TABLE_NAME, compact_json, no_table
from hil_mcp.tools.tool import Arguments, Tool

if TYPE_CHECKING:
    from hil_mcp.sql.descriptions import TaskSchema

NAME = "get_table_info"


def get_table_info(schema: TaskSchema) -> Tool:
    """The tool that describes one table and names its columns."""

    async def describe(arguments: Arguments) -> str:
        refusal = schema.refusal(arguments.text("database_name"))
        if refusal is not None:
            return refusal
        table = (await schema.describe()).table(arguments.text("table_name"))
        if table is None:
            return no_table(arguments)
        columns = [column.name for column in table.columns]
        return compact_json({"description": table.description, "columns": columns})

    return Tool(
        name=NAME,
        description="Description and column names of one table.",
        parameters=(DATABASE_NAME, TABLE_NAME),
        handler=describe,
    )
