"""`list_files`: the files of the repository, without what it ignores."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from hil_mcp.errors import AgentFacingError
from hil_mcp.repository.file_names import shown
from hil_mcp.repository.tree_files import run_in_tree
from hil_mcp.tools.outcome import REPLY_LIMIT_CHARS, told
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.sandbox.sandbox import Sandbox

_LISTING_LIMIT_BYTES = 20_000_000
_PAGE = 300
# Git knows what is ignored. A repository whose .git is gone is walked.
_LIST = """
cd -- "$full" || exit 1
if git -c safe.directory='*' rev-parse -q --is-inside-work-tree >/dev/null 2>&1; then
  git -c safe.directory='*' ls-files -z --full-name -co --exclude-standard
  printf '//\\0'
  git -c safe.directory='*' ls-files -z --full-name -d
else
  find "$full" -name .git -prune -o \\( -type f -o -type l \\) -print0
fi
"""


def list_files(sandbox: Sandbox) -> Tool:
    """The tool that lists files below a folder."""

    async def run(arguments: Arguments) -> str:
        pattern, offset = arguments.text("pattern"), arguments.integer("offset", 0)
        if offset < 0:
            raise AgentFacingError("Error: 'offset' must be 0 or more.")
        result = await run_in_tree(
            sandbox, arguments.text("path"), _LIST, (), limit_bytes=_LISTING_LIMIT_BYTES
        )
        names = [shown(name) for name in _names(result.stdout, sandbox.working_dir)]
        found = sorted(name for name in names if _fits(name, pattern))
        return _page(found, offset)

    return Tool(
        name="list_files",
        description=(
            "List the files of the repository, tracked or new, without ignored ones. "
            "Long lists come in pages."
        ),
        parameters=(
            Parameter(
                name="path",
                description="Folder to list, relative to the repository. Default: all of it.",
                required=False,
            ),
            Parameter(
                name="pattern",
                description="Only names that fit this glob, such as *.py or src/*.ts.",
                required=False,
            ),
            Parameter(
                name="offset",
                description="How many entries to skip, for the next page.",
                type="integer",
                required=False,
            ),
        ),
        handler=told(run),
    )


def _names(listing: bytes, root: str) -> set[bytes]:
    present, _, deleted = listing.partition(b"//\0")
    prefix = root.encode() + b"/"
    names = {name.removeprefix(prefix) for name in present.split(b"\0") if name}
    return names - set(deleted.split(b"\0"))


def _fits(name: str, pattern: str) -> bool:
    if not pattern:
        return True
    return fnmatchcase(name if "/" in pattern else name.rpartition("/")[2], pattern)


def _page(names: list[str], offset: int) -> str:
    if not names:
        return "No files."
    lines: list[str] = []
    length = 0
    for name in names[offset : offset + _PAGE]:
        length += len(name) + 1
        if lines and length > REPLY_LIMIT_CHARS:
            break
        lines.append(name)
    end = offset + len(lines)
    if offset or end < len(names):
        more = f"; offset={end} gives the next" if end < len(names) else ""
        lines.append(f"({offset + 1}-{end} of {len(names)} files{more})")
    return "\n".join(lines)
