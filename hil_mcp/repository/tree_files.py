"""Single files of the repository, read and written inside the sandbox and never outside the tree.

A path is resolved where the file is: `..` and symlinks are followed there and refused when they
leave the tree, in every sandbox alike.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from hil_mcp.repository.errors import RefusedError
from hil_mcp.repository.file_names import UNPACK_PATH, name_of, packed_path, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.sandbox.sandbox import ExecResult, Sandbox

STEP_TIMEOUT_S = 20.0
WHOLE_FILE_LIMIT_BYTES = 5_000_000
"""A longer file cannot be edited by replacing text."""

_ABSENT, _OUTSIDE, _DIRECTORY, _SPECIAL, _LOCKED, _PRESENT = range(71, 77)

# Sets `full`; what does not exist yet is judged by its nearest parent that does.
IN_TREE = (
    UNPACK_PATH
    + f"""
root=$(pwd -P)
case "$path" in .) full=$root ;; /*) full=$path ;; *) full=$root/$path ;; esac
probe=$full
while [ ! -e "$probe" ]; do
  [ -L "$probe" ] && exit {_OUTSIDE}
  probe=${{probe%/*}}
  [ -n "$probe" ] || probe=/
done
real=$(readlink -f -- "$probe" && echo .) || exit {_OUTSIDE}
case "${{real%??}}/" in "$root"/*) ;; *) exit {_OUTSIDE} ;; esac
"""
)
_IS_FILE = f"""
[ -e "$full" ] || exit {_ABSENT}
[ -d "$full" ] && exit {_DIRECTORY}
[ -f "$full" ] || exit {_SPECIAL}
[ -r "$full" ] || exit {_LOCKED}
"""
_READ_LINES = """
head -c 8000 -- "$full" | wc -c
head -c 8000 -- "$full" | tr -d '\\000' | wc -c
wc -c <"$full"
wc -l <"$full"
tail -n "+$2" -- "$full" | head -n "$3" | head -c "$4"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """Some lines of a file."""

    size_bytes: int
    line_count: int
    """Line ends in the whole file; a last line without one is not counted."""
    is_binary: bool
    """There is a NUL byte near the start; `data` is empty."""
    data: bytes
    is_cut: bool
    """The lines were longer than the limit."""


async def read_lines(
    sandbox: Sandbox, path: str, *, start: int, count: int, limit_bytes: int
) -> FilePart:
    """Read lines of one file.

    Args:
        sandbox: Where the file is.
        path: As the agent sent it, relative to the tree or absolute.
        start: First line, from 1.
        count: Most lines.
        limit_bytes: Most bytes of them.

    Raises:
        RefusedError: There is no such file, it is no regular file, or it is outside the tree.
    """
    result = await run_in_tree(
        sandbox,
        path,
        _IS_FILE + _READ_LINES,
        [str(start), str(count), str(limit_bytes + 1)],
        limit_bytes=limit_bytes + 1000,
    )
    *numbers, data = result.stdout.split(b"\n", 4)
    sample, without_nul, size_bytes, line_count = (int(number) for number in numbers)
    is_binary = sample != without_nul
    return FilePart(
        size_bytes=size_bytes,
        line_count=line_count,
        is_binary=is_binary,
        data=b"" if is_binary else data[:limit_bytes],
        is_cut=len(data) > limit_bytes,
    )


async def read_whole(sandbox: Sandbox, path: str) -> bytes:
    """Read one file.

    Raises:
        RefusedError: There is no such file, or it is longer than `WHOLE_FILE_LIMIT_BYTES`.
    """
    result = await run_in_tree(
        sandbox, path, _IS_FILE + 'cat -- "$full"', (), limit_bytes=WHOLE_FILE_LIMIT_BYTES
    )
    if result.truncated:
        raise RefusedError(
            f"{path} is longer than {WHOLE_FILE_LIMIT_BYTES:,} bytes; use run_command"
        )
    return result.stdout


async def overwrite(sandbox: Sandbox, path: str, data: bytes) -> None:
    """Give an existing file another content; its mode stays.

    Raises:
        RefusedError: There is no such file, or it cannot be written.
    """
    await run_in_tree(sandbox, path, _IS_FILE + 'cat >"$full"', (), stdin=data)


async def create(sandbox: Sandbox, path: str, data: bytes) -> None:
    """Make a new file and the folders above it.

    Raises:
        RefusedError: It exists already, or cannot be written.
    """
    script = f'[ -e "$full" ] && exit {_PRESENT}\nmkdir -p -- "${{full%/*}}" && cat >"$full"'
    await run_in_tree(sandbox, path, script, (), stdin=data)


async def run_in_tree(
    sandbox: Sandbox,
    path: str,
    script: str,
    arguments: Sequence[str],
    *,
    stdin: bytes = b"",
    limit_bytes: int = 10_000,
    accept: Sequence[int] = (0,),
) -> ExecResult:
    """Run a shell script with `full` set to a path that is inside the tree.

    Args:
        sandbox: Where the tree is.
        path: As the agent sent it.
        script: Finds its further arguments from `$2` on.
        arguments: What the script gets beside the path.
        stdin: For the script.
        limit_bytes: As for `Sandbox.exec`.
        accept: Statuses that are no refusal.

    Raises:
        RefusedError: The path leaves the tree, or the script failed; the text says how.
    """
    if "\0" in path:
        raise RefusedError("a path holds no NUL character")
    name = posixpath.normpath(name_of(path or "."))
    result = await sandbox.exec(
        ["sh", "-c", IN_TREE + script, "sh", packed_path(name), *arguments],
        timeout_s=STEP_TIMEOUT_S,
        limit_bytes=limit_bytes,
        stdin=stdin,
    )
    if result.status not in accept:
        _refuse(shown(name), result)
    return result


def _refuse(path: str, result: ExecResult) -> NoReturn:
    match result.status:
        case 71:
            text = f"there is no file {path}"
        case 72:
            text = f"{path} is outside the repository"
        case 73:
            text = f"{path} is a directory"
        case 74:
            text = f"{path} is not a regular file"
        case 75:
            text = f"{path} cannot be read: permission denied"
        case 76:
            text = f"{path} exists already; give old_text to change it"
        case _:
            text = f"{path}: {result.error_text.rpartition(': ')[2] or 'cannot be used'}"
    raise RefusedError(text)
