"""What the command line cannot bring about: somebody else at work on the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clients.client import ConfigTarget
from clients.config_file import ConfigFiles
from clients.errors import ConfigFileError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> ConfigFiles:
    return ConfigFiles(tmp_path / "records")


def _target(path: Path) -> ConfigTarget:
    return ConfigTarget(path=path, format="json", keys=("mcpServers",))


def test_a_file_that_changes_between_plan_and_write_is_left_alone(
    files: ConfigFiles, tmp_path: Path
) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    change = files.plan_server(_target(path), "hil", {"command": "x"})
    path.write_text('{"theirs": 1}')

    with pytest.raises(ConfigFileError, match="changed by somebody else"):
        files.write_server(change)

    assert path.read_text() == '{"theirs": 1}'


def test_a_folder_that_others_use_too_stays(files: ConfigFiles, tmp_path: Path) -> None:
    path = tmp_path / "made" / "settings.json"
    files.write_server(files.plan_server(_target(path), "hil", {"command": "x"}))
    (path.parent / "theirs").touch()

    files.write_removal(files.plan_removal(_target(path), "hil"))

    assert [each.name for each in path.parent.iterdir()] == ["theirs"]


def test_a_file_that_its_owner_removed_is_forgotten(files: ConfigFiles, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    files.write_server(files.plan_server(_target(path), "hil", {"command": "x"}))
    path.unlink()

    change = files.plan_removal(_target(path), "hil")
    files.write_removal(change)

    assert change.is_nothing
    assert not path.exists()
    assert not any((tmp_path / "records").iterdir())


@pytest.mark.parametrize("kind", ["loop", "folder", "below_a_file"])
def test_what_is_no_file_is_named(kind: str, files: ConfigFiles, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    match kind:
        case "loop":
            path.symlink_to(path)
        case "folder":
            path.mkdir()
        case _:
            path.touch()
            path = path / "settings.json"

    with pytest.raises(ConfigFileError, match=r"settings\.json: cannot be (read|written)"):
        files.write_server(files.plan_server(_target(path), "hil", {"command": "x"}))
