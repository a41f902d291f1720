"""The patch of what an agent has done: the working tree against the base tree.

Git does the work through an index of its own, so that the repository's index, branches and stash
stay as they are; what was committed counts like what was not. Ignored files are left out. Changed
binary files and generated ones are left out too and named: a text patch cannot carry the first,
and nobody meant the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.repository.errors import GitError
from hil_mcp.repository.file_names import shown
from hil_mcp.repository.generated_files import is_generated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hil_mcp.repository.base_tree import TreeId
    from hil_mcp.sandbox.sandbox import ExecResult, Sandbox

STEP_TIMEOUT_S = 30.0
PATCH_LIMIT_BYTES = 10_000_000
"""A longer patch is refused."""
LARGE_PATCH_BYTES = 1_000_000
"""A longer patch is accepted and flagged."""
_LISTING_LIMIT_BYTES = 50_000_000
_EMPTY_MODE = "000000"
_EMPTY_BLOB = "0" * 40

_PRELUDE = """
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_OPTIONAL_LOCKS=0
export GIT_INDEX_FILE="$1"; shift
git() {
  command git -c safe.directory='*' -c core.fsmonitor=false -c core.hooksPath=/dev/null \\
    -c core.quotePath=true -c diff.noprefix=false -c diff.mnemonicPrefix=false "$@"
}
"""
_DIFF = "--no-color --no-ext-diff --no-textconv --no-relative --ignore-submodules=none"
_APPLY = """
cat >"$GIT_INDEX_FILE.patch"
git apply --cached --whitespace=nowarn --check "$GIT_INDEX_FILE.patch" &&
  git apply --cached --whitespace=nowarn "$GIT_INDEX_FILE.patch"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """What an agent hands in."""

    text: str
    """A git diff; bytes that are not UTF-8 stand as lone surrogates (`surrogateescape`)."""
    files: tuple[str, ...] = ()
    """Paths that the patch changes, as an agent is shown them."""
    binary_files: tuple[str, ...] = ()
    """Changed binary files, left out."""
    generated_files: tuple[str, ...] = ()
    """Changed files of a kind that builds and tests make, left out."""

    @property
    def data(self) -> bytes:
        """The patch as git reads it."""
        return self.text.encode("utf-8", "surrogateescape")

    @property
    def is_large(self) -> bool:
        """Whether it is longer than `LARGE_PATCH_BYTES`."""
        return len(self.data) > LARGE_PATCH_BYTES


class PatchTooLargeError(GitError):
    """The change is longer than `PATCH_LIMIT_BYTES`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """One row of `git diff --raw` without rename detection."""

    old_mode: str
    new_mode: str
    old_blob: str
    new_blob: str
    path: bytes

    @property
    def has_new_content(self) -> bool:
        return self.new_mode != _EMPTY_MODE and self.new_blob != self.old_blob


async def take_patch(sandbox: Sandbox, base: TreeId) -> Patch:
    """Make the patch and prove that it applies: on the base tree it gives exactly this state.

    Args:
        sandbox: Where the agent worked.
        base: What `start_from_one_commit` gave.

    Raises:
        PatchTooLargeError: The change is too long.
        GitError: The base is gone from the repository, or git failed.
        SandboxTimeoutError: Too many files have changed to read them in time.
    """
    git = _Git(sandbox)
    async with git:
        return await _take(git, base)


async def why_not_applicable(sandbox: Sandbox, base: TreeId, patch: bytes) -> str | None:
    """Git's words on why a patch does not apply to the base tree; None when it does."""
    if not patch:
        return None
    git = _Git(sandbox)
    async with git:
        await git.must(f"git read-tree {base}", "reading the base")
        done = await git.run(_APPLY, stdin=patch)
    return None if done.status == 0 else done.error_text


async def _take(git: _Git, base: TreeId) -> Patch:
    if (await git.run(f"git cat-file -e {base}")).status != 0:
        raise GitError("the repository no longer holds the commit that the task began with")
    await git.must(f"git read-tree {base} && git add -A .", "reading the working tree")
    raw = await git.must(
        f"git diff --cached --raw -z --no-renames --abbrev=40 {_DIFF} {base}", "diff"
    )
    numbers = await git.must(
        f"git diff --cached --numstat -z --no-renames {_DIFF} {base}", "numstat"
    )
    changes = _changes(raw.stdout)
    binary = {row.split(b"\t", 2)[2] for row in numbers.stdout.split(b"\0") if row[:4] == b"-\t-\t"}
    apart = [c for c in changes if c.has_new_content and c.path in binary]
    generated = [c for c in changes if is_generated(c.path.decode("utf-8", "replace"))]
    left_out = {c.path: c for c in (*apart, *generated)}
    await git.restore(left_out.values())
    tree = (await git.must("git write-tree", "write-tree")).text.strip()
    diff = await git.run(
        f"git diff --binary --full-index --find-renames {_DIFF} {base} {tree}",
        limit_bytes=PATCH_LIMIT_BYTES,
    )
    if diff.truncated:
        raise PatchTooLargeError(f"the change is longer than {PATCH_LIMIT_BYTES:,} bytes")
    if diff.status != 0:
        raise GitError(f"diff failed: {diff.error_text}")
    await _prove(git, base, tree, diff.stdout)
    return Patch(
        text=diff.stdout.decode("utf-8", "surrogateescape"),
        files=tuple(shown(c.path) for c in changes if c.path not in left_out),
        binary_files=tuple(shown(c.path) for c in apart if not is_generated(shown(c.path))),
        generated_files=tuple(shown(c.path) for c in generated),
    )


async def _prove(git: _Git, base: TreeId, tree: str, patch: bytes) -> None:
    await git.must(f"git read-tree {base}", "reading the base")
    if patch:
        await git.must(_APPLY, "applying the patch to the base", stdin=patch)
    applied = (await git.must("git write-tree", "write-tree")).text.strip()
    if applied != tree:
        raise GitError("the patch, applied to the base, does not give the working tree")


def _changes(raw: bytes) -> list[_Change]:
    fields = raw.split(b"\0")
    changes: list[_Change] = []
    for head, path in zip(fields[0::2], fields[1::2], strict=False):
        old_mode, new_mode, old_blob, new_blob, _status = head.decode().lstrip(":").split(" ")
        changes.append(
            _Change(
                old_mode=old_mode,
                new_mode=new_mode,
                old_blob=old_blob,
                new_blob=new_blob,
                path=path,
            )
        )
    return changes


class _Git:
    """Runs git in a sandbox with a temporary index."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._index = ""

    async def __aenter__(self) -> _Git:
        made = await self._sandbox.exec(
            ["mktemp", "-d"], timeout_s=STEP_TIMEOUT_S, limit_bytes=1000
        )
        if made.status != 0:
            raise GitError(f"no temporary folder: {made.error_text}")
        self._index = f"{made.text.strip()}/index"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.run('rm -rf "${GIT_INDEX_FILE%/index}"')

    async def run(
        self, script: str, *, stdin: bytes = b"", limit_bytes: int = _LISTING_LIMIT_BYTES
    ) -> ExecResult:
        return await self._sandbox.exec(
            ["sh", "-c", _PRELUDE + script, "sh", self._index],
            timeout_s=STEP_TIMEOUT_S,
            limit_bytes=limit_bytes,
            stdin=stdin,
        )

    async def must(self, script: str, step: str, *, stdin: bytes = b"") -> ExecResult:
        result = await self.run(script, stdin=stdin)
        if result.status != 0 or result.truncated:
            raise GitError(f"{step} failed: {result.error_text or 'too much output'}")
        return result

    async def restore(self, changes: Iterable[_Change]) -> None:
        """Give the index the base's state of these files again."""
        rows = b"".join(
            f"{c.old_mode} {c.old_blob if c.old_mode != _EMPTY_MODE else _EMPTY_BLOB}\t".encode()
            + c.path
            + b"\0"
            for c in changes
        )
        if rows:
            await self.must("git update-index -z --index-info", "update-index", stdin=rows)
