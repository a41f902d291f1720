"""Commands that look for the upstream history of a repository, where the fix may lie.

Only the base commit is there, so such a command finds nothing; that it was tried is worth a flag.
"""

from __future__ import annotations

import re

HISTORY_PROBE = "history_probe"

# Looking at every branch, at the reflog or at unreachable objects, fetching, or naming a commit by
# a digest that nobody can have seen in a repository with one commit.
_PROBE = re.compile(
    r"(?:^|[\n;&|(`])\s*git(?:\s+-[Cc]\s+\S+|\s+--[a-z-]+(?:=\S+)?)*\s+(?:"
    r"(?:reflog|fsck|fetch|pull|clone|ls-remote)\b"
    r"|(?:log|shortlog|rev-list|branch|show-branch)\b[^\n;&|]*?"
    r"\s--(?:all|reflog|branches|remotes)\b"
    r"|(?:show|log|checkout|cherry-pick|diff|cat-file|format-patch|restore|reset|merge|rebase)\b"
    r"[^\n;&|]*?\s[0-9a-f]{7,40}\b"
    r")"
)


def history_flags(command: str) -> list[str]:
    """The flags that a shell command gets in the log."""
    return [HISTORY_PROBE] if _PROBE.search(command) else []
