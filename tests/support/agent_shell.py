"""The agents' own shells, as a scripted model calls them."""

from __future__ import annotations

from tests.support.scripted_model import Call

_LIMIT_MS = 300_000


def shell_call(agent: str, command: str) -> Call:
    """A call of an agent's own shell, by its own name and arguments."""
    match agent:
        case "claude-code":
            return Call("Bash", {"command": command, "timeout": _LIMIT_MS})
        case "codex":
            return Call("exec_command", {"cmd": command, "yield_time_ms": _LIMIT_MS})
        case "opencode":
            arguments = {"command": command, "description": "runs it", "timeout": _LIMIT_MS}
            return Call("bash", arguments)
        case "qwen-code":
            return Call("run_shell_command", {"command": command, "is_background": False})
        case _:
            return Call("run_shell_command", {"command": command})
