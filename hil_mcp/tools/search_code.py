"""`search_code`: ripgrep where the sandbox has it, else `git grep`, with the same answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.errors import AgentFacingError
from hil_mcp.repository.errors import RefusedError
from hil_mcp.repository.file_names import shown
from hil_mcp.repository.tree_files import run_in_tree
from hil_mcp.tools.outcome import REPLY_LIMIT_CHARS, told
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.sandbox.sandbox import ExecResult, Sandbox

_RESULT_LIMIT_BYTES = 2_000_000
_PAGE = 100
_LINE_LIMIT_CHARS = 300
_NO_MATCH = 1

# $2 pattern, $3 glob or empty, $4 "-i" or empty. Status 1 is no match, 2 or 128 a bad pattern.
_SEARCH = """
cd -- "$root" || exit 1
rel=${full#"$root"}; rel=${rel#/}; [ -n "$rel" ] || rel=.
if command -v rg >/dev/null; then
  rg --null --line-number --no-heading --with-filename --color never --hidden --sort path \\
    --no-config -g '!.git' ${3:+-g "$3"} $4 -e "$2" -- "$rel"
else
  case "$3" in
    '') set -- "$1" "$2" ":(literal)$rel" "$4" ;;
    */*) set -- "$1" "$2" ":(glob)${rel#.}${rel:+/}$3" "$4" ;;
    *) set -- "$1" "$2" ":(glob)$rel/**/$3" "$4" ;;
  esac
  git -c safe.directory='*' -c grep.column=false -c grep.fullName=true \\
    grep -z -n -I --untracked --no-color $4 -P -e "$2" -- "$3"
fi
"""


def search_code(sandbox: Sandbox) -> Tool:
    """The tool that finds lines by a regular expression."""

    async def run(arguments: Arguments) -> str:
        pattern, offset = arguments.text("pattern"), arguments.integer("offset", 0)
        if not pattern or "\n" in pattern or "\0" in pattern:
            raise AgentFacingError("Error: 'pattern' must be one line of at least one character.")
        if offset < 0:
            raise AgentFacingError("Error: 'offset' must be 0 or more.")
        result = await run_in_tree(
            sandbox,
            arguments.text("path"),
            _SEARCH,
            [
                pattern,
                arguments.text("glob"),
                "-i" if arguments.flag("ignore_case") else "",
            ],
            limit_bytes=_RESULT_LIMIT_BYTES,
            accept=(0, _NO_MATCH, 2, 128),
        )
        if result.status > _NO_MATCH and not result.stdout:
            raise RefusedError(f"the search failed: {result.error_text}")
        return _page(_rows(result), offset, is_cut=result.truncated)

    return Tool(
        name="search_code",
        description=(
            "Find lines by a regular expression in the repository's text files, without ignored "
            "ones. Gives path:line:text; long results come in pages."
        ),
        parameters=(
            Parameter(name="pattern", description="Regular expression."),
            Parameter(
                name="path",
                description="File or folder to search. Default: the whole repository.",
                required=False,
            ),
            Parameter(
                name="glob",
                description="Only files that fit this glob, such as *.py.",
                required=False,
            ),
            Parameter(
                name="ignore_case",
                description="Whether upper and lower case are the same.",
                type="boolean",
                required=False,
            ),
            Parameter(
                name="offset",
                description="How many matches to skip, for the next page.",
                type="integer",
                required=False,
            ),
        ),
        handler=told(run),
    )


def _rows(result: ExecResult) -> list[str]:
    lines = result.stdout.split(b"\n")
    # The last piece is empty, or a line that the limit cut.
    return [_row(line) for line in lines[:-1] if b"\0" in line]


def _row(line: bytes) -> str:
    name, _, rest = line.partition(b"\0")
    number, _, text = rest.replace(b"\0", b":", 1).partition(b":")
    shown_text = text.removesuffix(b"\r").decode("utf-8", "replace")
    if len(shown_text) > _LINE_LIMIT_CHARS:
        left = len(shown_text) - _LINE_LIMIT_CHARS
        shown_text = f"{shown_text[:_LINE_LIMIT_CHARS]} [{left} more characters]"
    return f"{shown(name.removeprefix(b'./'))}:{number.decode()}:{shown_text}"


def _page(rows: list[str], offset: int, *, is_cut: bool) -> str:
    if not rows:
        return "No match."
    lines: list[str] = []
    length = 0
    for row in rows[offset : offset + _PAGE]:
        length += len(row) + 1
        if lines and length > REPLY_LIMIT_CHARS:
            break
        lines.append(row)
    end = offset + len(lines)
    if offset or end < len(rows) or is_cut:
        total = f"more than {len(rows)}" if is_cut else str(len(rows))
        more = f"; offset={end} gives the next" if end < len(rows) else ""
        lines.append(f"({offset + 1}-{end} of {total} matches{more})")
    return "\n".join(lines)
