"""Runs queries of one database, each in a worker process of its own.

A worker runs one query and ends, so nothing of one call is left for the next: no settings, no
memory, no open cursor. The next worker is started while a query runs, so that a call seldom waits
for Python to start.
"""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import anyio

from clients.process import start_child
from hil_mcp.sql.outcome import NoResultSet, ResultSet, Shortened, SqlFailure

if TYPE_CHECKING:
    from clients.process import Child
    from hil_mcp.sql.outcome import Cell, SqlOutcome

_WORKER_PATH = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBudget:
    """How much of a result is kept.

    Attributes:
        max_rows: One more is fetched to know whether there are more.
        max_bytes: Size of all kept cells together, about.
        cell_chars: Longest text and longest blob; None keeps cells whole.
    """

    max_rows: int
    max_bytes: int
    cell_chars: int | None


SHOWN_ROWS = RowBudget(max_rows=200, max_bytes=200_000, cell_chars=4_000)
"""What an agent may see: the released 200 rows."""
WHOLE_RESULT = RowBudget(max_rows=100_000, max_bytes=64_000_000, cell_chars=None)
"""For grading; more is not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlLimits:
    """What queries may cost.

    Attributes:
        deadline_s: Longest run of one query; then its process is killed.
        wait_s: Longest wait for other queries. For an agent's queries both together stay below
            the 40 s of any reply.
        max_parallel: Queries that run at once.
    """

    deadline_s: float = 30.0
    wait_s: float = 8.0
    max_parallel: int = 8


AGENT_LIMITS = SqlLimits()
GRADING_LIMITS = SqlLimits(deadline_s=300.0, wait_s=600.0, max_parallel=2)
"""300 s is the released limit of each of gold and submission (docs/release.md, section 5)."""

_ERROR_CHARS = 2_000
_REPLY_OVERHEAD = 16
"""Longest JSON of a reply for each byte of its budget: an astral character takes 12 bytes."""
# All that SQLite says at its tokenizer and parser; what it says later is about names and types.
_SYNTAX_ERROR = re.compile(
    r"syntax error$|^incomplete input|^unrecognized token|^You can only execute one statement"
    r"|null character|^query string is too large|^parser stack overflow|^Expression tree is too"
)
_ENDED = SqlFailure(message="the query was stopped: its session has ended", kind="crash")
_ENVIRONMENT = {"PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}


class SqlRunner:
    """Runs queries of one database. A context manager: no process outlives it."""

    def __init__(self, database_path: Path, limits: SqlLimits = AGENT_LIMITS) -> None:
        """Name the database; it is opened by each query anew.

        Args:
            database_path: The SQLite file. It is never written, locked, or given side files.
            limits: What a query may cost.
        """
        self.database_path = database_path
        self.limits = limits
        self._turns = anyio.Semaphore(limits.max_parallel)
        self._spare: Child | None = None
        self._is_starting_spare = False
        self._is_closed = False
        self._running: set[Child] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closed = True
        spare, self._spare = self._spare, None
        for child in (*self._running, *((spare,) if spare else ())):
            await child.end()

    async def warm_up(self) -> None:
        """Start the worker of the first query."""
        if self._spare is not None or self._is_starting_spare:
            return
        self._is_starting_spare = True
        try:
            child = await _start_worker()
        finally:
            self._is_starting_spare = False
        if self._is_closed:
            await child.end()
        else:
            self._spare = child

    async def execute(self, query: str, budget: RowBudget = SHOWN_ROWS) -> SqlOutcome:
        """Run one statement.

        Args:
            query: Handed to SQLite as it is.
            budget: How much of its result is kept.
        """
        return await self._in_turn(query, self.database_path, budget)

    async def syntax_error(self, query: str) -> str | None:
        """SQLite's words on a text that it cannot parse as one statement; None when it can.

        No table is looked at, so that names that do not exist are no error here.
        """
        outcome = await self._in_turn(f"EXPLAIN {query}", None, SHOWN_ROWS)
        if isinstance(outcome, SqlFailure) and _SYNTAX_ERROR.search(outcome.message):
            return outcome.message
        return None

    async def _in_turn(
        self, query: str, database_path: Path | None, budget: RowBudget
    ) -> SqlOutcome:
        with anyio.move_on_after(self.limits.wait_s) as waiting:
            await self._turns.acquire()
        if waiting.cancelled_caught:
            return SqlFailure(
                message=f"other queries were running for {self.limits.wait_s:g} s: try again",
                kind="busy",
            )
        try:
            return await self._run(self._request(query, database_path, budget), budget)
        finally:
            self._turns.release()

    async def _run(self, request: bytes, budget: RowBudget) -> SqlOutcome:
        spare, self._spare = self._spare, None
        child = spare or await _start_worker()
        self._running.add(child)
        try:
            if self._is_closed:  # while the worker started: it was not there to be ended
                return _ENDED
            with anyio.move_on_after(self.limits.deadline_s):
                await child.send(request)
                await self.warm_up()
                limit = budget.max_bytes * _REPLY_OVERHEAD
                output = await child.read_stdout(limit_bytes=limit)
                status = await child.wait()
                return _ENDED if self._is_closed else _read_reply(output.data, status=status)
        finally:
            self._running.discard(child)
            await child.end()
        return SqlFailure(
            message=f"the query ran longer than {self.limits.deadline_s:g} s and was stopped",
            kind="timeout",
        )

    def _request(self, query: str, database_path: Path | None, budget: RowBudget) -> bytes:
        return json.dumps(
            {
                "path": str(database_path) if database_path else None,
                "query": query,
                "max_rows": budget.max_rows,
                "max_bytes": budget.max_bytes,
                "cell_chars": budget.cell_chars,
                "error_chars": _ERROR_CHARS,
                "cpu_s": math.ceil(self.limits.deadline_s) + 5,
            }
        ).encode()


async def _start_worker() -> Child:
    command = [sys.executable, "-I", "-S", "-B", str(_WORKER_PATH)]
    return await start_child(command, env=_ENVIRONMENT, has_stderr=False)


def _read_reply(data: bytes, *, status: int) -> SqlOutcome:
    if status < 0:  # by the kernel, at a limit of its own
        return SqlFailure(message="out of memory: the query was stopped", kind="memory")
    try:
        reply = cast("dict[str, Any]", json.loads(data))
    except ValueError:
        return SqlFailure(message="the query could not be run", kind="crash")
    if "error" in reply:
        return SqlFailure(message=reply["error"], kind=reply["kind"])
    if "rowcount" in reply:
        return NoResultSet(row_count=reply["rowcount"])
    return ResultSet(
        columns=tuple(_column(name) for name in reply["columns"]),
        rows=tuple(tuple(_cell(cell) for cell in row) for row in reply["rows"]),
        has_more=reply["more"],
    )


def _column(name: Any) -> str:
    return name if isinstance(name, str) else f"{name['text']}…"


def _cell(value: Any) -> Cell:
    if not isinstance(value, dict):
        return cast("Cell", value)
    cut = cast("dict[str, Any]", value)
    shown: str | bytes = bytes.fromhex(cut["blob"]) if "blob" in cut else cut["text"]
    if isinstance(shown, bytes) and len(shown) == cut["length"]:
        return shown
    return Shortened(shown=shown, length=cut["length"])
