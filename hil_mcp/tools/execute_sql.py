"""`execute_sql`: one query on the task's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.sql.reply import reply_text
from hil_mcp.sql.runner import SHOWN_ROWS
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.sql.runner import SqlRunner

NAME = "execute_sql"


def execute_sql(runner: SqlRunner) -> Tool:
    """The tool that runs one statement under the runner's guards."""

    async def execute(arguments: Arguments) -> str:
        return reply_text(await runner.execute(arguments.text("query")))

    return Tool(
        name=NAME,
        description=(
            "Run one read-only SQLite query on the task's database. Returns its first "
            f"{SHOWN_ROWS.max_rows} rows as CSV."
        ),
        parameters=(Parameter(name="query", description="One SQL statement."),),
        handler=execute,
        warm_up=runner.warm_up,
    )
