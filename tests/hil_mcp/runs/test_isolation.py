"""What stands in the way of an isolation is said in words, with a way out."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from hil_mcp.errors import ConfigError, SandboxError
from hil_mcp.runs.isolation import IsolationConfig, open_cell
from tests.support.cells import OTHER_USER, cell_config

if TYPE_CHECKING:
    from pathlib import Path

    from hil_mcp.runs.cell import IsolationKind


@pytest.mark.parametrize(
    ("kind", "user", "name"),
    [
        ("bubblewrap", None, "bubblewrap"),
        ("user", "agent", "user agent (files only)"),
        ("none", None, "none"),
    ],
)
def test_an_isolation_is_called_by_what_it_keeps(
    kind: IsolationKind, user: str | None, name: str
) -> None:
    assert IsolationConfig(kind=kind, user=user).name == name


async def _open(config: IsolationConfig, folder: Path) -> None:
    async with open_cell(config, folder, marker="m"):
        pass


@pytest.mark.parametrize("missing", ["bwrap", "nsenter"])
async def test_a_program_that_is_missing_is_named(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell_config("bubblewrap")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in {"bwrap", "nsenter"} - {missing}:
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(programs))

    with pytest.raises(SandboxError, match=f"needs the program '{missing}'"):
        await _open(IsolationConfig(kind="bubblewrap"), tmp_path / "cell")

    assert not (tmp_path / "cell").exists()


async def test_a_sandbox_that_runs_nothing_is_refused_with_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell_config("bubblewrap")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "bwrap").write_text("#!/bin/sh\necho not permitted here >&2; exit 1\n")
    (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)

    with pytest.raises(SandboxError, match="runs nothing: not permitted here"):
        await _open(IsolationConfig(kind="bubblewrap"), tmp_path / "cell")

    assert not (tmp_path / "cell").exists()


@pytest.mark.parametrize(
    ("user", "reason"),
    [(None, "say which user"), ("root", "is root"), ("no-such-user", "no user 'no-such-user'")],
)
async def test_a_user_that_cannot_be_is_refused(
    user: str | None, reason: str, tmp_path: Path
) -> None:
    cell_config("user")

    with pytest.raises(ConfigError, match=reason):
        await _open(IsolationConfig(kind="user", user=user), tmp_path / "cell")


async def test_a_folder_that_the_other_user_cannot_enter_is_refused(tmp_path: Path) -> None:
    cell_config("user")
    tmp_path.chmod(0o700)

    with pytest.raises(SandboxError, match="choose a folder for the run whose parents"):
        await _open(IsolationConfig(kind="user", user=OTHER_USER), tmp_path / "cell")

    assert not (tmp_path / "cell").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may run a command as another user")
async def test_only_root_runs_agents_as_another_user(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs root"):
        await _open(IsolationConfig(kind="user", user="root"), tmp_path / "cell")
