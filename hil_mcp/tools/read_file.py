"""`read_file`: numbered lines of one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.errors import AgentFacingError
from hil_mcp.repository.tree_files import FilePart, read_lines
from hil_mcp.tools.outcome import REPLY_LIMIT_CHARS, told
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.sandbox.sandbox import Sandbox

_FETCH_LIMIT_BYTES = 64_000
_LINE_LIMIT_CHARS = 2_000
_MOST_LINES = 2_000


def read_file(sandbox: Sandbox) -> Tool:
    """The tool that reads a file or some of its lines."""

    async def run(arguments: Arguments) -> str:
        path, start = arguments.text("path"), arguments.integer("start_line", 1)
        end = arguments.integer("end_line", start + _MOST_LINES - 1)
        if start < 1 or end < start:
            raise AgentFacingError(
                "Error: 'start_line' must be 1 or more and 'end_line' not before it."
            )
        count = min(end - start + 1, _MOST_LINES)
        part = await read_lines(
            sandbox, path, start=start, count=count, limit_bytes=_FETCH_LIMIT_BYTES
        )
        return _shown(path, part, start)

    return Tool(
        name="read_file",
        description="Read a text file of the repository, or a range of its lines, with numbers.",
        parameters=(
            Parameter(name="path", description="File, relative to the repository."),
            Parameter(
                name="start_line",
                description="First line, from 1.",
                type="integer",
                required=False,
            ),
            Parameter(
                name="end_line",
                description="Last line, included.",
                type="integer",
                required=False,
            ),
        ),
        handler=told(run),
    )


def _shown(path: str, part: FilePart, start: int) -> str:
    if part.is_binary:
        return f"{path} is a binary file of {part.size_bytes:,} bytes; it is not shown."
    if not part.size_bytes:
        return f"{path} is empty."
    lines = part.data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        return f"{path} has {part.line_count} lines; there is none at {start}."
    rows, notes = _numbered(lines, start)
    end = start + len(rows) - 1
    total = max(part.line_count, end)
    if start > 1 or end < total:
        more = f"; start_line={end + 1} gives the next" if end < total else ""
        notes.insert(0, f"lines {start}-{end} of {total}{more}")
    return "\n".join([*rows, f"({'; '.join(notes)})"] if notes else rows)


def _numbered(lines: list[bytes], start: int) -> tuple[list[str], list[str]]:
    rows: list[str] = []
    notes: list[str] = []
    length = 0
    for number, line in enumerate(lines, start):
        text = line.removesuffix(b"\r").decode("utf-8", "replace")
        if len(text) > _LINE_LIMIT_CHARS:
            text = f"{text[:_LINE_LIMIT_CHARS]} [{len(text) - _LINE_LIMIT_CHARS} more characters]"
        length += len(text) + 8
        if rows and length > REPLY_LIMIT_CHARS:
            break
        rows.append(f"{number:6}\t{text}")
    if any(line.endswith(b"\r") for line in lines):
        notes.append("line ends are CRLF")
    try:
        b"\n".join(lines[: len(rows)]).decode()
    except UnicodeDecodeError:
        notes.append("not UTF-8: unreadable bytes are shown as \N{REPLACEMENT CHARACTER}")
    return rows, notes
