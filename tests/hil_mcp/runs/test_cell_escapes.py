"""Escapes from a cell: none succeeds in name spaces, each does where nothing guards."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clients.process import run_child
from tests.support.cell_attempts import CELL_ATTEMPTS, open_cell_stage

if TYPE_CHECKING:
    from hil_mcp.runs.cell import IsolationKind

# What another user's rights leave open: the network, what all users may see of processes or read
# (a checkout, for example: the probe refuses that), and other attempts that run as the same user.
_OPEN_TO_ANOTHER_USER = {
    "call another attempt's session",
    "find another attempt's token beside one's own folders",
    "listen to all packets",
    "make a group of processes",
    "read all arguments",
    "read another attempt's token",
    "read another session's files",
    "read the answers in the checkout's tests",
    "read the packages in the server's environment",
    "read the shipped answers",
    "search all that is seen for an answer",
    "write into another attempt's workspace",
    "write to another session",
    "read its arguments",
    "reach it by datagram",
    "reach it by the host's address",
    "reach it on address zero",
    "reach it on any loopback",
    "reach it on loopback",
    "reach its abstract socket",
    "see a network card",
    "see its ports",
    "see its sockets",
    "see that it runs",
}


async def _got_out(kind: IsolationKind) -> set[str]:
    async with open_cell_stage(kind) as staged:
        cell = staged.cell
        result = await run_child(
            cell.command(["/bin/sh", "-c", staged.write_attempts()]),
            env={"PATH": os.environ["PATH"], "HOME": str(cell.home), "LANG": "C.UTF-8"},
            cwd=cell.workspace,
            timeout_s=120,
            limit_bytes=100_000,
        )
        return staged.got_out(result.stdout.data.decode())


def test_there_are_more_than_thirty_attempts_and_each_has_its_own_name() -> None:
    assert len({attempt.name for attempt in CELL_ATTEMPTS}) == len(CELL_ATTEMPTS) > 30


async def test_no_attempt_gets_out_of_name_spaces() -> None:
    assert await _got_out("bubblewrap") == set()


async def test_every_attempt_gets_out_where_nothing_guards() -> None:
    got_out = await _got_out("none")

    root_only = {attempt.name for attempt in CELL_ATTEMPTS if attempt.needs_root}
    skipped = root_only if os.geteuid() != 0 else set[str]()
    assert {attempt.name for attempt in CELL_ATTEMPTS} - got_out - skipped == set()


async def test_another_user_s_rights_keep_files_and_no_more() -> None:
    got_out = await _got_out("user")

    assert got_out - _OPEN_TO_ANOTHER_USER == set()
