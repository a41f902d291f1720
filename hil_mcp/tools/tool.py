"""What a tool is to the server: a name, a flat argument schema and one coroutine.

A tool knows nothing of MCP. It gets checked arguments and returns the text of its reply; an
`AgentFacingError` becomes an error result with that text, and any other exception a fixed sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hil_mcp.errors import AgentFacingError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

ParameterType = Literal["string", "integer", "boolean"]
ArgumentValue = str | int | bool

_PYTHON_TYPES: dict[ParameterType, type] = {"string": str, "integer": int, "boolean": bool}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a tool, in the subset of JSON Schema that every agent passes on."""

    name: str
    description: str
    type: ParameterType = "string"
    required: bool = True


class Arguments:
    """The checked arguments of one call: every required one is there, each of its type.

    Attributes:
        meta: The agent's own ids for the call, as sent.
    """

    def __init__(
        self, values: Mapping[str, ArgumentValue], meta: Mapping[str, object] | None = None
    ) -> None:
        self._values = values
        self.meta = meta or {}

    def text(self, name: str, default: str = "") -> str:
        """The string argument `name`, or `default` when an optional one is absent."""
        return str(self._values.get(name, default))

    def integer(self, name: str, default: int) -> int:
        """The integer argument `name`, or `default` when it is absent."""
        return int(self._values.get(name, default))

    def flag(self, name: str, *, default: bool = False) -> bool:
        """The boolean argument `name`, or `default` when it is absent."""
        return bool(self._values.get(name, default))

    def __contains__(self, name: str) -> bool:
        return name in self._values


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as the agent sees it.

    Attributes:
        name: At most 40 characters of `[a-z0-9_]`: agents prefix it with the server's name.
        description: Neutral; part of the session's `tools_listed` digest.
        read_only: Sent as `readOnlyHint`. Codex runs only such tools without asking.
        handler: Gives the reply's text. It must end by itself within 40 s.
        warm_up: Run in the background once the server answers, for what is slow to load.
        close: Gives back what the tool holds outside this process, when a signal ends it.
        flags: What the log says of a call, from its arguments as sent; such as `history_probe`.
        logs_itself: The handler writes its own event, so that the call is not recorded twice.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    handler: Callable[[Arguments], Awaitable[str]]
    read_only: bool = True
    warm_up: Callable[[], Awaitable[None]] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    flags: Callable[[Mapping[str, object]], list[str]] | None = None
    logs_itself: bool = False

    def input_schema(self) -> dict[str, object]:
        """The flat JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {
                p.name: {"type": p.type, "description": p.description} for p in self.parameters
            },
            "required": [p.name for p in self.parameters if p.required],
        }

    def check(
        self, given: Mapping[str, object], meta: Mapping[str, object] | None = None
    ) -> Arguments:
        """Check what the agent sent; what the schema does not name is ignored.

        Args:
            given: Arguments as sent.
            meta: The agent's own ids for the call.

        Raises:
            AgentFacingError: An argument is absent or of another type; the text names it.
        """
        values: dict[str, ArgumentValue] = {}
        for parameter in self.parameters:
            value = given.get(parameter.name)
            if value is None:
                if parameter.required:
                    raise AgentFacingError(
                        f"Error: {self.name} needs the argument '{parameter.name}' "
                        f"({parameter.type})."
                    )
                continue
            # bool is an int to Python and not to JSON.
            wrong = not isinstance(value, _PYTHON_TYPES[parameter.type]) or (
                isinstance(value, bool) and parameter.type != "boolean"
            )
            if wrong:
                raise AgentFacingError(
                    f"Error: the argument '{parameter.name}' of {self.name} must be a "
                    f"{parameter.type}."
                )
            assert isinstance(value, str | int | bool)  # noqa: S101  # the type checker cannot see it
            values[parameter.name] = value
        return Arguments(values, meta)
