"""The MCP server: joins tools, session and SDK, and is the one boundary to the agent.

Replies are one text block and nothing else: agents send only the structured copy to the model where
there is one, or refuse a reply whose schema promises one. Nothing of a task is listed: no prompts,
no resources. Both eras of the protocol are served, with and without `initialize`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from hil_mcp.errors import AgentFacingError
from hil_mcp.events import ClientConnected, ToolsListed
from hil_mcp.sandbox.errors import SandboxLimitError
from hil_mcp.session_log import LogWriteError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from hil_mcp.session import Session
    from hil_mcp.tools.tool import Tool

logger = logging.getLogger(__name__)

SERVER_NAME = "hil"
REPLY_DEADLINE_S = 40.0
"""Longest time from a call's receipt to its reply; agents give up at 60 s."""
PROGRESS_INTERVAL_S = 5.0
UNRECORDED = "Error: the call could not be recorded. Try again."

Transport = Literal["stdio", "http", "memory"]
Context = Any  # the SDK's request context is invariant in a lifespan type that is not used here

_TASK_TOOLS = {
    "submit_sql": "Submit the final query with submit_sql; the last submission counts.",
    "submit_patch": "Submit the final state with submit_patch; the last submission counts.",
}
_ASK = "ask_human reaches the person who gave the task; it takes one specific question at a time."


def instructions_for(tools: Sequence[Tool]) -> str:
    """Neutral instructions: what the tools are for, not when to use them."""
    names = [tool.name for tool in tools]
    lines = ["Tools for one task."]
    if "ask_human" in names:
        lines.append(_ASK)
    lines.extend(line for name, line in _TASK_TOOLS.items() if name in names)
    return " ".join(lines)


def build_server(
    session: Session,
    tools: Sequence[Tool],
    *,
    transport: Transport = "memory",
    on_ready: Callable[[], None] | None = None,
) -> Server[Any]:
    """Build the server of one session.

    Args:
        session: Keeps the log; begun at the first tool call at the latest.
        tools: What the agent gets.
        transport: Named in the log.
        on_ready: Called once, after the first answer to `tools/list` is made or a tool is called:
            the moment from which loading models does not delay the agent's start.
    """
    boundary = _Boundary(session, tools, transport, on_ready)
    server: Server[Any] = Server(
        SERVER_NAME,
        version=version("hil-mcp"),
        instructions=instructions_for(tools),
        on_list_tools=boundary.list_tools,
        on_call_tool=boundary.call_tool,
        lifespan=boundary.lifespan,
    )
    server.middleware = [boundary.observe]
    return server


class _Boundary:
    """What an agent's requests come to, and who sent them."""

    def __init__(
        self,
        session: Session,
        tools: Sequence[Tool],
        transport: Transport,
        on_ready: Callable[[], None] | None,
    ) -> None:
        self._session = session
        self._tools = {tool.name: tool for tool in tools}
        self._transport: Transport = transport
        self._on_ready = on_ready
        self._listing = [
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.input_schema(),
                annotations=types.ToolAnnotations(read_only_hint=tool.read_only),
            )
            for tool in tools
        ]
        self._in_flight: dict[int, Context] = {}
        self._connections = 0
        self._modern_clients: dict[tuple[str | None, str | None], int] = {}

    @asynccontextmanager
    async def lifespan(self, _: Server[Any]) -> AsyncGenerator[None]:
        """Tell agents that their calls go on: some give up when nothing comes for a while."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._report_progress)
            yield
            tasks.cancel_scope.cancel()

    async def _report_progress(self) -> None:
        # One task for all calls: a task for each would cost more than a call does.
        beat = 0
        while True:
            await anyio.sleep(PROGRESS_INTERVAL_S)
            beat += 1
            for ctx in tuple(self._in_flight.values()):
                # A no-op for a call that asked for none; an agent may have gone meanwhile.
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await ctx.session.report_progress(float(beat))

    async def observe(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Note each agent's program once, at its first request."""
        if ctx.request_id is not None:
            await self._note_client(ctx)
        return await call_next(ctx)

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Answer from memory: no task data is touched."""
        listing = [tool.model_dump(by_alias=True, exclude_none=True) for tool in self._listing]
        digest = hashlib.sha256(json.dumps(listing, sort_keys=True).encode()).hexdigest()
        self._session.note(
            ToolsListed(connection=self._connections, tools=list(self._tools), digest=digest)
        )
        self._ready()
        return types.ListToolsResult(tools=self._listing)

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Run one tool; only texts that are meant for the agent leave."""
        self._ready()
        started = time.perf_counter()
        given: Mapping[str, object] = params.arguments or {}
        meta: dict[str, object] = dict(ctx.meta or {})
        tool = self._tools.get(params.name)
        self._in_flight[id(ctx)] = ctx
        try:
            text, is_error = await for_agent(
                self._run(tool, params.name, given, meta), self._session.faults
            )
        finally:
            del self._in_flight[id(ctx)]
        if is_error or tool is None or not tool.logs_itself:
            try:
                self._session.record_call(
                    params.name,
                    given,
                    text,
                    is_error=is_error,
                    started=started,
                    flags=tool.flags(given) if tool and tool.flags else (),
                )
            except LogWriteError:
                logger.exception("a call could not be recorded; its reply is withheld")
                self._session.faults.append("a call could not be recorded")
                text, is_error = UNRECORDED, True
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], is_error=is_error
        )

    async def _run(
        self,
        tool: Tool | None,
        name: str,
        given: Mapping[str, object],
        meta: Mapping[str, object],
    ) -> str:
        with anyio.fail_after(REPLY_DEADLINE_S):
            await self._session.begin()  # the first call may wait here for the judge to get ready
            if tool is None:
                raise AgentFacingError(f"Error: there is no tool '{name}'.")
            return await tool.handler(tool.check(given, meta))

    async def _note_client(self, ctx: ServerRequestContext[Any, Any]) -> None:
        if ctx.method == "initialize":
            params: Mapping[str, Any] = ctx.params or {}
            info: Mapping[str, Any] = params.get("clientInfo") or {}
            version_asked = params.get("protocolVersion")
            await self._connected(info.get("name"), info.get("version"), version_asked)
        elif ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            client = ctx.session.client_params
            key = (client.client_info.name, client.client_info.version) if client else (None, None)
            if key not in self._modern_clients:
                self._modern_clients[key] = self._connections + 1
                await self._connected(*key, ctx.protocol_version)

    async def _connected(
        self, name: str | None, client_version: str | None, protocol_version: str | None
    ) -> None:
        self._connections += 1
        self._session.note(
            ClientConnected(
                connection=self._connections,
                name=name,
                version=client_version,
                protocol_version=protocol_version,
                transport=self._transport,
            )
        )

    def _ready(self) -> None:
        on_ready, self._on_ready = self._on_ready, None
        if on_ready is not None:
            on_ready()


async def for_agent(call: Awaitable[str], faults: list[str]) -> tuple[str, bool]:
    """Run one call and give the text that may leave, and whether it is an error.

    Args:
        call: The call.
        faults: Gets a line when the failure is ours and not the agent's.
    """
    try:
        return await call, False
    except AgentFacingError as exc:
        return str(exc), True
    except SandboxLimitError as exc:
        # The agent's own doing: a full disk must not void its attempt.
        return f"Error: {exc}.", True
    except TimeoutError:
        return f"Error: no result within {REPLY_DEADLINE_S:g} s.", True
    except LogWriteError:
        logger.exception("a call could not be recorded; its reply is withheld")
        text, fault = UNRECORDED, "a call could not be recorded"
    except Exception as exc:
        # The message may hold a resolution: it goes to the diagnostics, a fixed text to the agent.
        logger.exception("a tool failed in a way that it does not declare")
        text = "Error: the tool failed. Its other calls are not affected."
        fault = f"a tool failed: {type(exc).__name__}"
    faults.append(fault)
    return text, True
