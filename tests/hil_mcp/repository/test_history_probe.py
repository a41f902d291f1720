"""Which commands look for a repository's upstream history."""

from __future__ import annotations

import pytest

from hil_mcp.repository.history_probe import history_flags


@pytest.mark.parametrize(
    "command",
    [
        "git log --all --oneline",
        "git show 1a2b3c4d5e",
        "cd lib && git -C . log -p --reflog",
        "git reflog",
        "git fsck --lost-found",
        "git fetch origin",
        "git checkout 0123456789abcdef0123456789abcdef01234567 -- lib/x.py",
        "git diff HEAD deadbee lib",
    ],
)
def test_a_search_for_upstream_history_is_flagged(command: str) -> None:
    assert history_flags(command) == ["history_probe"]


@pytest.mark.parametrize(
    "command",
    [
        "git log --oneline",
        "git status && git diff",
        "git show HEAD",
        "git checkout -- lib/x.py",
        "git add --all",
        "grep -rn 'git fetch' docs",
        "python3 -m pytest --all",
        "echo deadbeef0",
        "",
    ],
)
def test_ordinary_work_is_not(command: str) -> None:
    assert history_flags(command) == []
