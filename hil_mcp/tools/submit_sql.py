"""`submit_sql`: the agent's answer to a SQL task."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import anyio.to_thread

from hil_mcp.errors import AgentFacingError
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NAME = "submit_sql"
