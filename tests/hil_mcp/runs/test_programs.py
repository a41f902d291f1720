"""What an agent's program needs to be seen, for the ways in which agents are installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clients.process import run_child
from hil_mcp.runs.programs import needed_folders
from tests.support.cells import opened_cell

if TYPE_CHECKING:
    import pytest


def _script(path: Path, first: str = "#!/bin/sh") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first}\necho it runs\n")
    path.chmod(0o755)
    return path


def test_a_package_from_npm_needs_all_modules_beside_it_and_the_link_to_it(tmp_path: Path) -> None:
    modules = tmp_path / "lib" / "node_modules"
    _script(modules / "@vendor" / "agent" / "node_modules" / "inner" / "cli.js")
    link = tmp_path / "bin" / "agent"
    link.parent.mkdir()
    link.symlink_to("../lib/node_modules/@vendor/agent/node_modules/inner/cli.js")

    assert {link, modules} <= set(needed_folders(link))
    assert tmp_path not in needed_folders(link)


def test_a_link_to_a_folder_on_the_way_is_followed(tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to(tmp_path / "versions" / "2")
    program = _script(tmp_path / "versions" / "2" / "agent")

    needed = needed_folders(tmp_path / "current" / "agent")

    assert {tmp_path / "current", program} <= set(needed)


def test_a_single_file_needs_itself_and_not_its_folder(tmp_path: Path) -> None:
    program = _script(tmp_path / "bin" / "agent")

    assert tmp_path / "bin" not in needed_folders(program)
    assert program in needed_folders(program)


def test_an_installation_with_a_library_is_needed_whole(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()

    assert tmp_path in needed_folders(_script(tmp_path / "bin" / "agent"))


def test_the_interpreter_of_a_script_is_needed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = _script(tmp_path / "node" / "bin" / "node")
    (tmp_path / "node" / "lib").mkdir()
    monkeypatch.setenv("PATH", str(node.parent), prepend=":")

    for first in ("#!/usr/bin/env node", "#!/usr/bin/env -S node --flag", f"#!{node}"):
        assert node.parent.parent in needed_folders(_script(tmp_path / "agent.js", first))


def test_a_virtual_environment_needs_the_python_beneath_it(tmp_path: Path) -> None:
    base = Path(sys.base_prefix).resolve()
    (tmp_path / "venv" / "lib").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\n")

    needed = needed_folders(_script(tmp_path / "venv" / "bin" / "agent"))

    assert {tmp_path / "venv", base} <= set(needed)


def test_the_users_home_folder_is_never_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "lib").mkdir()
    (tmp_path / ".local" / "lib").mkdir(parents=True)

    for program in (tmp_path / "bin" / "agent", tmp_path / ".local" / "bin" / "agent"):
        needed = needed_folders(_script(program))
        assert program in needed
        assert not any(tmp_path.is_relative_to(path) for path in needed)


def test_a_program_that_is_not_there_needs_nothing(tmp_path: Path) -> None:
    assert needed_folders(tmp_path / "nothing") == ()


async def test_a_program_runs_in_a_guarded_cell_once_what_it_needs_is_shown(tmp_path: Path) -> None:
    _script(tmp_path / "lib" / "node_modules" / "agent" / "cli")
    link = tmp_path / "bin" / "agent"
    link.parent.mkdir()
    link.symlink_to("../lib/node_modules/agent/cli")
    (tmp_path / "secret").write_text("a")

    said: list[bytes] = []
    for programs in ((), needed_folders(link)):
        async with opened_cell("bubblewrap", tmp_path / "cell", programs=programs) as cell:
            for command in ([str(link)], ["/bin/ls", str(tmp_path)]):
                result = await run_child(
                    cell.command(command),
                    env={},
                    cwd=cell.workspace,
                    timeout_s=20,
                    limit_bytes=1000,
                )
                said.append(result.stdout.data)

    assert said == [b"", b"cell\n", b"it runs\n", b"bin\ncell\nlib\n"]
