"""Ways out of an attempt's cell: those out of a sandbox, and those to the other attempts of a run.

Beside the stage's names, an attempt's script may name those of `open_cell_stage`.
"""

from __future__ import annotations

import re
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import anyio

from tests.support.cells import opened_cell
from tests.support.escape_attempts import ATTEMPTS, Attempt, connect
from tests.support.escape_stage import Stage, open_stage

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator, Sequence

    from hil_mcp.runs.cell import Cell, IsolationKind

_CHECKOUT = Path(__file__).resolve().parents[2]

CELL_ATTEMPTS: tuple[Attempt, ...] = (
    *ATTEMPTS,
    Attempt(name="read another attempt's token", script="cat {other_home}/token"),
    Attempt(
        name="find another attempt's token beside one's own folders",
        script="cat {inside}/../../*/home/token",
    ),
    Attempt(
        name="write into another attempt's workspace",
        script=": >{other_work}/planted && echo ESCAPED",
    ),
    Attempt(name="call another attempt's session", script=connect("('127.0.0.1', {other_port})")),
    Attempt(
        name="read the answers in the checkout's tests",
        script="[ -s {checkout}/tests/support/cell_attempts.py ] && echo ESCAPED",
    ),
    Attempt(
        name="read the packages in the server's environment",
        script="[ -d {checkout}/.venv/lib ] && echo ESCAPED",
    ),
    Attempt(
        name="search all that is seen for an answer",
        script="find {checkout} / -path /proc -prune -o -path '*/starter/*' -name 'solution.*'"
        " -print -quit 2>/dev/null | grep -q . && echo ESCAPED",
    ),
)


# Each attempt is a file and the pattern does not match itself: arguments are among what is read.
_TRY_ALL = """
cd "$1/.."
for script in "$1"/*.sh; do
  mkdir -p try && cd try
  found=$(timeout 20 /bin/sh "$script" 2>/dev/null </dev/null |
    grep -a -o -E 'SECRET-[0-9a-f]{32}|ESCAPE[D]' | sort -u | head -n 100 | tr '\n' ' ')
  cd ..; rm -rf try
  name=${script##*/}
  [ -z "$found" ] || echo "got ${name%.sh}: $found"
done
echo "all attempts made"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStage:
    """A cell to break out of, and what an escape is after."""

    cell: Cell
    stage: Stage

    def write_attempts(self) -> str:
        """Write all attempts into the cell's workspace; the shell command that tries them."""
        folder = self.cell.workspace / "attempts"
        folder.mkdir()
        for number, attempt in enumerate(CELL_ATTEMPTS):
            text = self.stage.script(attempt.script)
            (folder / f"{number:03}.sh").write_text(f"{text}\n")
        (folder / "all").write_text(_TRY_ALL)
        return f"/bin/sh {folder}/all {folder}"

    def got_out(self, said: str) -> set[str]:
        """The names of the attempts that got out, by what the command printed.

        Raises:
            AssertionError: It did not come to its end.
        """
        lines = said.splitlines()
        assert any("all attempts made" in line for line in lines), said[-2000:]
        # Other tests that run now have stages too, with secrets of their own.
        found = (re.search(r"got (\d{3}): (.+)", line) for line in lines)
        return {
            CELL_ATTEMPTS[int(one[1])].name
            for one in found
            if one and {"ESCAPED", self.stage.secret} & set(one[2].split())
        }


@asynccontextmanager
async def open_cell_stage(
    kind: IsolationKind, *, programs: Sequence[Path] = ()
) -> AsyncGenerator[CellStage]:
    """Lay out a stage, a cell of another attempt that is in use, and a cell of one kind."""
    # Near the top, where the attempts look, and with parents that another user may enter.
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="hil-stage-", dir="/tmp")))
        folder.chmod(0o755)
        tree = folder / "tree"
        tree.mkdir()
        stage = stack.enter_context(open_stage(folder, tree))
        cells = Path(stage.names["run"]) / "cells"
        protected = [Path(stage.names["home"]), Path(stage.names["run"]), _CHECKOUT]
        protected.append(Path(stage.names["package"]))
        async with (
            opened_cell(kind, cells / "b", protected=protected, programs=programs) as other,
            opened_cell(kind, cells / "a", protected=protected, programs=programs) as inside,
            anyio.create_task_group() as tasks,
        ):
            (other.home / "token").write_text(stage.secret)
            (other.workspace / f"other-{stage.names['unique']}").write_text(stage.secret)
            tasks.start_soon(_answer, other.session_listener, stage.secret)
            stage.names.update(
                other_home=str(other.home),
                other_work=str(other.workspace),
                other_port=str(other.session_listener.getsockname()[1]),
                inside=str(inside.home),
                checkout=str(_CHECKOUT),
            )
            yield CellStage(cell=inside, stage=stage)
            tasks.cancel_scope.cancel()


async def _answer(listener: socket.socket, secret: str) -> None:
    listener.listen()
    listener.setblocking(False)
    while True:
        await anyio.wait_readable(listener)
        connection, _ = listener.accept()
        with connection:
            connection.sendall(secret.encode())
