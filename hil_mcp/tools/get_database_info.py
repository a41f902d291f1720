"""`get_database_info`: the tables of the task's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.tools.schema_reply import DATABASE_NAME, compact_json
from hil_mcp.tools.tool import Arguments, Tool

if TYPE_CHECKING:
    from hil_mcp.sql.descriptions import TaskSchema

NAME = "get_database_info"


def get_database_info(schema: TaskSchema) -> Tool:
    """The tool that names each table with its description."""

    async def describe(arguments: Arguments) -> str:
        refusal = schema.refusal(arguments.text("database_name"))
        if refusal is not None:
            return refusal
        tables = (await schema.describe()).tables
        return compact_json({table.name: table.description for table in tables})

    return Tool(
        name=NAME,
        description="Names and descriptions of the tables of a database.",
        parameters=(DATABASE_NAME,),
        handler=describe,
    )
