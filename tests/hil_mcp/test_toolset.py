"""Which tools each mode has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hil_mcp.modes import Mode
from hil_mcp.tools.toolset import open_tools
from judge.embedder import Embedder
from task_store.errors import MissingArtefactError
from task_store.store import TaskStore
from tests.support.judges import ScriptedJudge
from tests.support.sessions import make_session
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

SQL_TOOLS = {
    "get_database_info",
    "get_table_info",
    "get_column_info",
    "get_business_info",
    "execute_sql",
    "submit_sql",
}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.BASELINE, SQL_TOOLS),
        (Mode.FULL_INFO, SQL_TOOLS),
        (Mode.ASK_HUMAN, {"ask_human"} | SQL_TOOLS),
        (Mode.SPEC_ONLY, {"ask_human", "submit_sql"}),
    ],
)
async def test_a_sql_task_gives_each_mode_its_tools(
    tmp_path: Path, home: Path, mode: Mode, expected: set[str]
) -> None:
    store = TaskStore(home)
    task = store.get("lockers_late")
    session = make_session(tmp_path / "session.jsonl", ScriptedJudge([]), task=task, mode=mode)

    async with open_tools(task, mode, session, store, Embedder()) as tools:
        names = {tool.name for tool in tools}
    await session.close("closed")

    assert names == expected
    assert all(len(name) <= 40 for name in names)


async def test_a_missing_database_names_the_command_that_fetches_it(
    tmp_path: Path, home: Path
) -> None:
    task = make_task("a")
    session = make_session(tmp_path / "session.jsonl", ScriptedJudge([]), task=task)

    with pytest.raises(MissingArtefactError, match="hil-mcp tasks fetch boats"):
        async with open_tools(task, Mode.ASK_HUMAN, session, TaskStore(home), Embedder()):
            pytest.fail("served without its database")
    await session.close("closed")
