"""The protected set holds what has an answer in it, and no more."""

from __future__ import annotations

import sys
from pathlib import Path

import task_store
from hil_mcp.runs.protected import installed_folders, protected_paths

ROOT = Path(__file__).resolve().parents[3]


def _is_protected(path: Path, protected: tuple[Path, ...]) -> bool:
    return any(path.resolve().is_relative_to(one) for one in protected)


def test_catalogue_run_secrets_package_checkout_and_environment_are_protected(
    tmp_path: Path,
) -> None:
    home, run_dir, token = tmp_path / "home", tmp_path / "run", tmp_path / "token"

    protected = protected_paths(home=home, run_dir=run_dir, secrets=[token])

    answers = Path(task_store.__file__).parent / "starter"
    for path in (
        *(home / "catalogue.db", run_dir / "attempts" / "a" / "session.jsonl", token),
        *(answers, ROOT / "tests", ROOT / ".git", Path(sys.prefix) / "lib"),
    ):
        assert _is_protected(path, protected), path
    assert not _is_protected(tmp_path / "else", protected)


def test_no_protected_path_lies_in_another(tmp_path: Path) -> None:
    protected = protected_paths(home=tmp_path, run_dir=tmp_path / "runs" / "1")

    assert tmp_path in protected
    assert not any(
        path != one and path.is_relative_to(one) for path in protected for one in protected
    )


def test_the_interpreter_s_own_folders_stay_visible() -> None:
    folders = installed_folders()

    assert not any(Path(sys.base_prefix).resolve().is_relative_to(folder) for folder in folders)
    assert not any(Path("/usr/bin").is_relative_to(folder) for folder in folders)
