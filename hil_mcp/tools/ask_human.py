"""`ask_human`: the one way to get what only a person knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.session import IRRELEVANT
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.session import Session

NAME = "ask_human"


def ask_human(session: Session) -> Tool:
    """The tool that puts one question to the session's judge."""

    async def ask(arguments: Arguments) -> str:
        return await session.ask(arguments.text("question"), meta=arguments.meta)

    return Tool(
        name=NAME,
        description=(
            "Ask the person who gave you this task one specific question. Returns their answer, or "
            f"'{IRRELEVANT}' when they have nothing to say to it."
        ),
        parameters=(
            Parameter(name="question", description="One question about one thing, in plain words."),
        ),
        handler=ask,
        logs_itself=True,
    )
