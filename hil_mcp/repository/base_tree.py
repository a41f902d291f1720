"""The state that an agent starts from: one commit, no history, and its tree's id for later.

Whatever the repository came with, upstream's next commits included, is dropped: what is left is
one commit with all files as they lay there. The tree's objects are in a pack that git keeps, so
that nothing the agent does with branches, stashes or `git gc` loses them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NewType

from hil_mcp.repository.errors import GitError

if TYPE_CHECKING:
    from hil_mcp.sandbox.sandbox import Sandbox

TreeId = NewType("TreeId", str)

_TIMEOUT_S = 180.0
_LIMIT_BYTES = 20_000

# A bare repository is filled first and then put in the old one's place. The files are not touched.
_START = """
set -e
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=base GIT_AUTHOR_EMAIL=base@localhost GIT_AUTHOR_DATE='2026-01-01T00:00:00Z'
export GIT_COMMITTER_NAME=base GIT_COMMITTER_EMAIL=base@localhost
export GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
git() { command git -c safe.directory='*' -c core.hooksPath=/dev/null "$@"; }
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
export GIT_INDEX_FILE="$new/index"
git init -q --bare "$new/git"
git --git-dir="$new/git" symbolic-ref HEAD refs/heads/main
if [ -e .git ]; then
  [ "$(git rev-parse --show-toplevel)" = "$(pwd -P)" ]
  if git rev-parse -q --verify HEAD >/dev/null; then git read-tree HEAD; fi
  exclude="$(git rev-parse --git-path info/exclude)"
  if [ -f "$exclude" ]; then cp "$exclude" "$new/git/info/exclude"; fi
else
  git init -q .
fi
git add -A .
tree=$(git write-tree)
echo "$tree" | git pack-objects --revs -q --stdout >"$new/pack"
git --git-dir="$new/git" index-pack --stdin --keep=base <"$new/pack" >/dev/null
commit=$(git --git-dir="$new/git" commit-tree "$tree" -m 'Base of the task')
git --git-dir="$new/git" update-ref refs/heads/main "$commit"
git --git-dir="$new/git" config core.bare false
git --git-dir="$new/git" config user.name agent
git --git-dir="$new/git" config user.email agent@localhost
rm -rf .git
mv "$new/git" .git
unset GIT_INDEX_FILE
git read-tree HEAD
git update-index -q --refresh || true
echo "$tree"
"""


async def start_from_one_commit(sandbox: Sandbox) -> TreeId:
    """Replace the history of the sandbox's repository by one commit of what lies there.

    Returns:
        The id of the commit's tree.

    Raises:
        GitError: Git failed; the repository cannot be used.
        SandboxError: The sandbox failed.
    """
    result = await sandbox.exec(
        ["sh", "-c", _START], timeout_s=_TIMEOUT_S, limit_bytes=_LIMIT_BYTES
    )
    if result.status != 0:
        raise GitError(f"the repository's base commit could not be made: {result.error_text}")
    return TreeId(result.text.split()[-1])
