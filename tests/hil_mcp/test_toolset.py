"""Which tools each mode has."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from mcp.client.client import Client

from hil_mcp.errors import ConfigError
from hil_mcp.events import Submission, ToolCall
from hil_mcp.modes import Mode
from hil_mcp.sandbox.opening import SandboxConfig
from hil_mcp.server import build_server
from hil_mcp.session_reader import read_session
from hil_mcp.tools.toolset import open_tools
from judge.embedder import Embedder
from task_store.errors import MissingArtefactError
from task_store.store import TaskStore
from tests.support.judges import ScriptedJudge
from tests.support.sessions import make_session
from tests.support.sql_tasks import text_of
from tests.support.tasks import make_repository_task, make_task

SQL_TOOLS = {
    "get_database_info",
    "get_table_info",
    "get_column_info",
    "get_business_info",
    "execute_sql",
    "submit_sql",
}

REPOSITORY_TOOLS = {
    "list_files",
    "read_file",
    "search_code",
    "edit_file",
    "run_command",
    "command_output",
    "run_tests",
    "submit_patch",
}
LOCAL = SandboxConfig(kind="local")


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


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.BASELINE, REPOSITORY_TOOLS),
        (Mode.FULL_INFO, REPOSITORY_TOOLS),
        (Mode.ASK_HUMAN, {"ask_human"} | REPOSITORY_TOOLS),
        (Mode.SPEC_ONLY, {"ask_human", "submit_patch"}),
    ],
)
async def test_a_repository_task_gives_each_mode_its_tools_without_starting_a_sandbox(
    tmp_path: Path, home: Path, mode: Mode, expected: set[str]
) -> None:
    store = TaskStore(home)
    task = store.get("backup_prune")
    session = make_session(tmp_path / "session.jsonl", ScriptedJudge([]), task=task, mode=mode)

    async with open_tools(task, mode, session, store, Embedder(), LOCAL) as tools:
        names = {tool.name for tool in tools}
        assert set(Path(tempfile.gettempdir()).glob(f"hil-mcp-{session.session_id}*")) == set()
    await session.close("closed")

    assert names == expected
    assert all(len(name) <= 40 for name in names)


async def test_an_agents_work_on_a_repository_ends_up_in_the_log_as_a_patch(
    tmp_path: Path, home: Path
) -> None:
    store = TaskStore(home)
    task = store.get("backup_prune")
    log = tmp_path / "session.jsonl"
    session = make_session(log, ScriptedJudge([]), task=task, mode=Mode.BASELINE)

    async with (
        open_tools(task, Mode.BASELINE, session, store, Embedder(), LOCAL) as tools,
        Client(build_server(session, tools)) as client,
    ):
        tests = await client.call_tool("run_tests", {})
        probe = await client.call_tool("run_command", {"command": "git log --all --oneline"})
        await client.call_tool("edit_file", {"path": "notes.md", "new_text": "done\n"})
        reply = await client.call_tool("submit_patch", {})
    await session.close("closed")

    assert "(exit status 0)" in text_of(tests)
    assert text_of(reply).startswith("Submission received: 1 files")
    record = read_session(log)
    assert len(text_of(probe).splitlines()) == 2  # the one commit, and the status
    flags = {call.tool: call.flags for call in record.of(ToolCall)}
    assert flags == {
        "run_tests": [],
        "run_command": ["history_probe"],
        "edit_file": [],
        "submit_patch": [],
    }
    (submission,) = record.of(Submission)
    assert submission.kind == "patch"
    assert "+++ b/notes.md" in (submission.content or "")


async def test_a_patch_in_words_is_taken_only_when_it_applies(tmp_path: Path, home: Path) -> None:
    store = TaskStore(home)
    task = store.get("backup_prune")
    log = tmp_path / "session.jsonl"
    session = make_session(log, ScriptedJudge([]), task=task, mode=Mode.SPEC_ONLY)
    await session.begin()
    good = "--- /dev/null\n+++ b/notes.md\n@@ -0,0 +1 @@\n+done"

    async with (
        open_tools(task, Mode.SPEC_ONLY, session, store, Embedder(), LOCAL) as tools,
        Client(build_server(session, tools)) as client,
    ):
        refused = await client.call_tool("submit_patch", {"patch": "not a patch"})
        taken = await client.call_tool("submit_patch", {"patch": good})
    await session.close("closed")

    assert "the patch does not apply" in text_of(refused)
    assert text_of(taken) == "Submission received."
    assert [s.content for s in read_session(log).of(Submission)] == [good + "\n"]


async def test_a_sandbox_that_does_not_start_fails_the_call_and_says_nothing_of_the_task(
    tmp_path: Path, home: Path
) -> None:
    store = TaskStore(home)
    task = store.get("backup_prune")
    session = make_session(
        tmp_path / "session.jsonl", ScriptedJudge([]), task=task, mode=Mode.BASELINE
    )
    nowhere = SandboxConfig(
        kind="docker", docker_address=f"unix://{tmp_path}/none.sock", tree_image="x:1"
    )

    async with (
        open_tools(task, Mode.BASELINE, session, store, Embedder(), nowhere) as tools,
        Client(build_server(session, tools)) as client,
    ):
        reply = await client.call_tool("list_files", {})
    await session.close("closed")

    assert reply.is_error
    assert text_of(reply) == "Error: the tool failed. Its other calls are not affected."
    assert session.faults == ["a tool failed: SandboxGoneError"]


async def test_a_task_that_lives_in_an_image_is_refused_by_other_sandboxes(
    tmp_path: Path, home: Path
) -> None:
    task = make_repository_task()
    session = make_session(tmp_path / "session.jsonl", ScriptedJudge([]), task=task)

    with pytest.raises(ConfigError, match="choose sandbox docker"):
        async with open_tools(task, Mode.BASELINE, session, TaskStore(home), Embedder(), LOCAL):
            pytest.fail("served outside its image")
    await session.close("closed")


async def test_a_source_tree_in_docker_needs_an_image_to_be_named(
    tmp_path: Path, home: Path
) -> None:
    store = TaskStore(home)
    task = store.get("backup_prune")
    session = make_session(tmp_path / "session.jsonl", ScriptedJudge([]), task=task)

    with pytest.raises(ConfigError, match="HIL_MCP_SANDBOX_IMAGE"):
        async with open_tools(
            task, Mode.BASELINE, session, store, Embedder(), SandboxConfig(kind="docker")
        ):
            pytest.fail("served without an image")
    await session.close("closed")


async def test_a_missing_database_names_the_command_that_fetches_it(
    tmp_path: Path, home: Path
) -> None:
    task = make_task("a")
    session = make_session(tmp_path / "session.jsonl", ScriptedJudge([]), task=task)

    with pytest.raises(MissingArtefactError, match="hil-mcp tasks fetch boats"):
        async with open_tools(task, Mode.ASK_HUMAN, session, TaskStore(home), Embedder()):
            pytest.fail("served without its database")
    await session.close("closed")
