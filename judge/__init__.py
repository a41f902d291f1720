"""Decide which blocker, if any, one question is about. Knows nothing of tasks, sessions or MCP."""

from judge.errors import JudgeError
from judge.verdict import BlockerView, Judge, JudgeFingerprint, RegistryView, Verdict

__all__ = ["BlockerView", "Judge", "JudgeError", "JudgeFingerprint", "RegistryView", "Verdict"]
