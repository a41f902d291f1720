"""`edit_file`: replace text that stands once, insert after a line, or create a file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from hil_mcp.errors import AgentFacingError
from hil_mcp.repository.errors import RefusedError
from hil_mcp.repository.tree_files import create, overwrite, read_whole
from hil_mcp.tools.outcome import told
from hil_mcp.tools.tool import Arguments, Parameter, Tool

if TYPE_CHECKING:
    from hil_mcp.sandbox.sandbox import Sandbox

_LISTED_LINES = 10


def edit_file(sandbox: Sandbox) -> Tool:
    """The tool that changes one file."""

    async def run(arguments: Arguments) -> str:
        path, new = arguments.text("path"), arguments.text("new_text")
        if "old_text" in arguments and "insert_after_line" in arguments:
            raise AgentFacingError(
                "Error: give 'old_text' or 'insert_after_line', not both; neither creates a file."
            )
        if "old_text" in arguments:
            return await _replace(sandbox, path, arguments.text("old_text"), new)
        if "insert_after_line" in arguments:
            return await _insert(sandbox, path, arguments.integer("insert_after_line", 0), new)
        await create(sandbox, path, _bytes(new))
        return f"Created {path}."

    return Tool(
        name="edit_file",
        description=(
            "Change one file of the repository: with old_text, replace that text, which must "
            "stand in the file exactly once; with insert_after_line, insert lines; with neither, "
            "create a new file."
        ),
        parameters=(
            Parameter(name="path", description="File, relative to the repository."),
            Parameter(name="new_text", description="The new text."),
            Parameter(
                name="old_text",
                description="Text to replace, with its white space, as it stands in the file.",
                required=False,
            ),
            Parameter(
                name="insert_after_line",
                description="Insert new_text as lines after this line; 0 is the top.",
                type="integer",
                required=False,
            ),
        ),
        handler=told(run),
        read_only=False,
    )


async def _replace(sandbox: Sandbox, path: str, old_text: str, new_text: str) -> str:
    if not old_text:
        raise AgentFacingError("Error: 'old_text' is empty; insert_after_line inserts text.")
    data = await read_whole(sandbox, path)
    old, new = _bytes(old_text), _bytes(new_text)
    if _is_crlf(data) and b"\r\n" not in old:
        # Agents see and send LF; the file keeps its own line ends.
        old, new = _to_crlf(old), _to_crlf(new)
    if old == new:
        raise RefusedError("new_text is the same as old_text")
    found = data.count(old)
    if found == 0:
        raise RefusedError(f"old_text does not stand in {path}: it must fit to the character")
    if found > 1:
        raise RefusedError(
            f"old_text stands {found} times in {path} (at lines {_lines_of(data, old)}): give "
            "more of the text around the one you mean"
        )
    place = data.index(old)
    await overwrite(sandbox, path, data[:place] + new + data[place + len(old) :])
    line = data.count(b"\n", 0, place) + 1
    return f"Replaced text in {path} at line {line}."


async def _insert(sandbox: Sandbox, path: str, after: int, new_text: str) -> str:
    data = await read_whole(sandbox, path)
    lines = io.BytesIO(data).readlines()  # LF alone ends a line, as in every editor and in git
    if not 0 <= after <= len(lines):
        raise RefusedError(f"{path} has {len(lines)} lines: there is no line {after}")
    end = b"\r\n" if _is_crlf(data) else b"\n"
    new = _bytes(new_text)
    if end == b"\r\n" and b"\r\n" not in new:
        new = _to_crlf(new)
    if after and not lines[after - 1].endswith(b"\n"):
        lines[after - 1] += end
    if not new.endswith(b"\n"):
        new += end
    await overwrite(sandbox, path, b"".join([*lines[:after], new, *lines[after:]]))
    count = new.count(b"\n")
    return f"Inserted {count} lines in {path} after line {after}."


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _is_crlf(data: bytes) -> bool:
    ends = data.count(b"\n")
    return ends > 0 and data.count(b"\r\n") == ends


def _to_crlf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _lines_of(data: bytes, text: bytes) -> str:
    numbers: list[str] = []
    place = data.find(text)
    while place >= 0 and len(numbers) < _LISTED_LINES:
        numbers.append(str(data.count(b"\n", 0, place) + 1))
        place = data.find(text, place + len(text))
    return ", ".join(numbers) + (", …" if place >= 0 else "")
