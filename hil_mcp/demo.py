"""The whole loop on a starter task: a scripted client drives a real server process over stdio.

The client stands in for an agent. It asks one good question, one vague one and one twice, guesses
the rest, and submits; so its score is neither 0 nor 1, and its answer is wrong.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from hil_mcp.modes import Mode
from hil_mcp.settings import child_environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TASK_ID = "lockers_late"

_GUESSING_QUERY = """\
WITH late AS (
    SELECT depots.region, COUNT(*) AS late_drop_offs
    FROM drop_offs
    JOIN parcels USING (parcel_id)
    JOIN sites USING (site_id)
    JOIN depots ON depots.depot_id = sites.depot_id
    WHERE drop_offs.dropped_at LIKE '2025-03-%'
      AND parcels.service <> 'return'
      AND substr(drop_offs.dropped_at, 12) >= '18:40'
    GROUP BY depots.region
),
active AS (
    SELECT depots.region, COUNT(*) AS active_sites
    FROM sites JOIN depots USING (depot_id)
    WHERE sites.status = 'live'
    GROUP BY depots.region
)
SELECT late.region, late.late_drop_offs,
       ROUND(1.0 * late.late_drop_offs / active.active_sites, 2) AS late_per_active_site
FROM late JOIN active USING (region)
ORDER BY late_per_active_site DESC"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of the scripted client.

    Attributes:
        why: What the client has in mind, for the person who watches.
        tool: The tool's name.
        arguments: Its arguments.
    """

    why: str
    tool: str
    arguments: dict[str, str]


SCRIPT = (
    Step(
        why="looks around",
        tool="get_database_info",
        arguments={"database_name": "lockers"},
    ),
    Step(
        why="looks for a rule",
        tool="get_business_info",
        arguments={"database_name": "lockers", "search_string": "when is a drop-off late"},
    ),
    Step(
        why="looks at the data",
        tool="execute_sql",
        arguments={"query": "SELECT scan_source, COUNT(*) AS drop_offs FROM drop_offs GROUP BY 1"},
    ),
    Step(
        why="asks what no rule says: a good question",
        tool="ask_human",
        arguments={"question": "From what time of day on is a drop-off counted as late?"},
    ),
    Step(
        why="asks for nothing in particular: a vague question",
        tool="ask_human",
        arguments={"question": "Could you tell me more about this task?"},
    ),
    Step(
        why="asks again what it knows by now: a repeat",
        tool="ask_human",
        arguments={"question": "At what time of day does a drop-off start to be late?"},
    ),
    Step(
        why="guesses what an active site is, and submits",
        tool="submit_sql",
        arguments={"query": _GUESSING_QUERY},
    ),
)


async def play(
    log_path: Path,
    home: Path,
    *,
    on_step: Callable[[Step], None],
    on_reply: Callable[[str], None],
) -> None:
    """Run the script against a server process of its own.

    Args:
        log_path: Where the server writes its session.
        home: `HIL_MCP_HOME` of the server.
        on_step: Called before each call.
        on_reply: Called with each reply's text.
    """
    server = StdioServerParameters(
        command=sys.executable,
        args=[
            *("-m", "hil_mcp", "serve", "--task", TASK_ID, "--mode", Mode.ASK_HUMAN),
            *("--judge", "embedded", "--log", str(log_path)),
        ],
        env=child_environment({"HIL_MCP_HOME": str(home)}),
    )
    # The process's own stderr: what stands for it in this module may be no real file.
    transport = stdio_client(server, errlog=sys.__stderr__ or sys.stderr)
    async with Client(transport, mode="legacy") as client:
        for step in SCRIPT:
            on_step(step)
            result = await client.call_tool(step.tool, dict(step.arguments))
            on_reply("\n".join(b.text for b in result.content if isinstance(b, types.TextContent)))
