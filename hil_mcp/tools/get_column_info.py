"""`get_column_info`: what one column holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.tools.schema_reply import DATABASE_NAME, TABLE_NAME, compact_json, no_table
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.sql.descriptions import TaskSchema

NAME = "get_column_info"


def get_column_info(schema: TaskSchema) -> Tool:
    """The tool that describes one column."""

    async def describe(arguments: Arguments) -> str:
        database_name = arguments.text("database_name")
        refusal = schema.refusal(database_name)
        if refusal is not None:
            return refusal
        table = (await schema.describe()).table(arguments.text("table_name"))
        if table is None:
            return no_table(arguments)
        column_name = arguments.text("column_name")
        column = table.column(column_name)
        if column is None:
            return (
                f"Error: column {column_name} in table {arguments.text('table_name')} "
                f"in database {database_name} doesn't exist"
            )
        return compact_json({"description": column.description, "data_type": column.data_type})

    return Tool(
        name=NAME,
        description="Description and data type of one column.",
        parameters=(
            DATABASE_NAME,
            TABLE_NAME,
            Parameter(name="column_name", description="Name of a column of the table."),
        ),
        handler=describe,
    )
