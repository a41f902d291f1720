"""What a guarded cell sees where shown and hidden folders lie in one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients.process import run_child
from tests.support.cells import opened_cell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


async def _seen(
    cell_dir: Path, path: Path, *, programs: Sequence[Path], protected: Sequence[Path]
) -> str:
    async with opened_cell("bubblewrap", cell_dir, programs=programs, protected=protected) as cell:
        result = await run_child(
            cell.command(["/bin/sh", "-c", 'cat "$1" || cat "$1"/*', "sh", str(path)]),
            env={"PATH": "/usr/bin:/bin"},
            cwd=cell.workspace,
            timeout_s=20,
            limit_bytes=10_000,
        )
    return result.stdout.data.decode()


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.name)
    return path


async def test_what_is_protected_is_hidden_below_a_shown_folder(tmp_path: Path) -> None:
    shown, package, key = tmp_path / "s", tmp_path / "s" / "package", _file(tmp_path / "s" / "key")
    _file(package / "answers")

    for path in (package, key):
        assert (
            await _seen(tmp_path / "cell", path, programs=[shown], protected=[package, key]) == ""
        )
    assert await _seen(tmp_path / "cell", key, programs=[shown], protected=[package]) == "key"


async def test_what_is_shown_is_seen_below_a_protected_folder(tmp_path: Path) -> None:
    checkout, agents = tmp_path / "checkout", tmp_path / "checkout" / "cache" / "agents"
    _file(agents / "agent")
    _file(checkout / "cache" / "answers")

    for above in ([tmp_path], []):
        seen = [
            await _seen(tmp_path / "cell", path, programs=[*above, agents], protected=[checkout])
            for path in (agents / "agent", checkout / "cache" / "answers")
        ]
        assert seen == ["agent", ""]


async def test_a_protected_folder_is_hidden_by_whatever_link_it_is_named(tmp_path: Path) -> None:
    _file(tmp_path / "s" / "real" / "answers")
    (tmp_path / "s" / "link").symlink_to("real")

    seen = await _seen(
        tmp_path / "cell",
        tmp_path / "s" / "real" / "answers",
        programs=[tmp_path / "s"],
        protected=[tmp_path / "s" / "link"],
    )

    assert seen == ""


async def test_a_cell_inside_a_protected_run_folder_keeps_its_own_folders(tmp_path: Path) -> None:
    run = tmp_path / "run"
    _file(run / "attempts" / "other" / "session.jsonl")
    async with opened_cell(
        "bubblewrap", run / "cells" / "a", programs=[tmp_path], protected=[run]
    ) as cell:
        result = await run_child(
            cell.command(["/bin/sh", "-c", f": >file && ls; ls {run} {run}/cells/a; : >{run}/x"]),
            env={"PATH": "/usr/bin:/bin"},
            cwd=cell.workspace,
            timeout_s=20,
            limit_bytes=10_000,
        )

    assert result.stdout.data.decode().split() == [
        "file",
        f"{run}:",
        "cells",
        f"{run}/cells/a:",
        "home",
        "work",
    ]
    assert b"Read-only file system" in result.stderr.data
