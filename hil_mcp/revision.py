"""Which hil-mcp this is: its version and, in a checkout, its git revision."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path


def installed_version() -> str:
    """The installed distribution's version."""
    return version("hil-mcp")


def git_revision(checkout: Path | None = None) -> str | None:
    """The commit that the package is run from, or None when it is not run from a checkout.

    Read from git's files: starting git would cost more than the rest of the server's start.

    Args:
        checkout: Folder with `.git`; the package's own by default.
    """
    git_dir = (checkout or Path(__file__).resolve().parents[1]) / ".git"
    try:
        if git_dir.is_file():  # a linked worktree: "gitdir: PATH"
            git_dir = Path(git_dir.read_text(encoding="utf-8").removeprefix("gitdir:").strip())
        head = (git_dir / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        common = git_dir / "commondir"
        root = git_dir / common.read_text(encoding="utf-8").strip() if common.exists() else git_dir
        loose = root / name
        if loose.exists():
            return loose.read_text(encoding="utf-8").strip()
        for line in (root / "packed-refs").read_text(encoding="utf-8").splitlines():
            revision, _, ref = line.partition(" ")
            if ref == name:
                return revision
    except (OSError, UnicodeDecodeError):
        return None
    return None
