"""All agents: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients.claude_code import CLAUDE_CODE
from clients.claude_desktop import CLAUDE_DESKTOP
from clients.codex import CODEX
from clients.copilot import COPILOT
from clients.cursor import CURSOR
from clients.errors import UnknownClientError
from clients.gemini import GEMINI
from clients.opencode import OPENCODE
from clients.qwen_code import QWEN_CODE
from clients.vscode import VSCODE

if TYPE_CHECKING:
    from clients.client import Client

CLIENTS: tuple[Client, ...] = (
    CLAUDE_CODE,
    CODEX,
    CURSOR,
    GEMINI,
    OPENCODE,
    QWEN_CODE,
    VSCODE,
    COPILOT,
    CLAUDE_DESKTOP,
)


def find_client(name: str) -> Client:
    """The agent of that name.

    Raises:
        UnknownClientError: There is none; the message lists those that there are.
    """
    found = next((client for client in CLIENTS if client.name == name), None)
    if found is None:
        known = ", ".join(client.name for client in CLIENTS)
        raise UnknownClientError(f"unknown client {name!r}: {known}")
    return found
