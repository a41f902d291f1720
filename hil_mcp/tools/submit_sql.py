"""`submit_sql`: the agent's answer to a SQL task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.errors import AgentFacingError
from hil_mcp.sql.tokens import is_one_query
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hil_mcp.sql.runner import SqlRunner

NAME = "submit_sql"

_ECHO_CHARS = 8_000
"""How much of a query its reply repeats; what is kept is whole."""

_NOT_A_QUERY = (
    "This does not parse as one SELECT statement{reason}. It is kept as it is; the last "
    "submission counts, so you may submit again."
)


def submit_sql(submit: Callable[[str], Awaitable[None]], runner: SqlRunner) -> Tool:
    """The tool that hands in the final query.

    Args:
        submit: Keeps the text, verbatim; the last one counts.
        runner: Says whether the text parses. It looks at no table: in a mode without the SQL tools
            the reply would otherwise tell which names exist.
    """

    async def hand_in(arguments: Arguments) -> str:
        query = arguments.text("query")
        if not query.strip():
            raise AgentFacingError(
                f"Error: {NAME} was called with an empty query; nothing was submitted."
            )
        await submit(query)
        shown, rest = query[:_ECHO_CHARS], len(query) - _ECHO_CHARS
        received = f"Submission received:\n{shown}" + (f"… [{rest} more]" if rest > 0 else "")
        problem = await runner.syntax_error(query)
        if problem is None and is_one_query(query):
            return received
        reason = f" ({problem})" if problem else ""
        return f"{received}\n\n{_NOT_A_QUERY.format(reason=reason)}"

    return Tool(
        name=NAME,
        description="Submit the final SQL query of the task. The last submission counts.",
        parameters=(Parameter(name="query", description="One SELECT statement."),),
        handler=hand_in,
        read_only=False,
    )
