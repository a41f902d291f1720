"""What the three schema tools have in common: their arguments and the form of their replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hil_mcp.tools.tool import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hil_mcp.tools.tool import Arguments

DATABASE_NAME = Parameter(name="database_name", description="Name of the database.")
TABLE_NAME = Parameter(name="table_name", description="Name of a table of the database.")


def compact_json(value: Mapping[str, str | Sequence[str]]) -> str:
    """JSON as the release prints it: no blanks, and letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def no_table(arguments: Arguments) -> str:
    """The released text for a table that the database has not."""
    return (
        f"Error: table {arguments.text('table_name')} in database "
        f"{arguments.text('database_name')} doesn't exist"
    )
