"""`get_business_info`: search over the task's business rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.sql.rule_index import FOUND_AT_MOST
from hil_mcp.tools.schema_reply import DATABASE_NAME
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.sql.rule_index import RuleIndex

NAME = "get_business_info"

# The released texts; docs/release.md, section 2.
_MISSING = "Error querying knowledge base: Missing {name}"
_NOTHING = "No business information found matching '{text}'."


def get_business_info(database_name: str, index: RuleIndex) -> Tool:
    """The tool that finds business rules.

    Args:
        database_name: As released, nothing is found under any other name.
        index: The rules of this task.
    """

    async def search(arguments: Arguments) -> str:
        text = arguments.text("search_string")
        for name in ("database_name", "search_string"):
            if not arguments.text(name):
                return _MISSING.format(name=name)
        is_this_database = arguments.text("database_name") == database_name
        found = await index.search(text) if is_this_database else []
        if not found:
            return _NOTHING.format(text=text)
        return "\n".join(f"{number}. {rule.strip()}" for number, rule in enumerate(found, 1))

    return Tool(
        name=NAME,
        description=(
            "Search the business information of a database by meaning. Returns the "
            f"{FOUND_AT_MOST} nearest entries."
        ),
        parameters=(
            DATABASE_NAME,
            Parameter(name="search_string", description="What to look for, in plain words."),
        ),
        handler=search,
        warm_up=index.warm_up,
    )
