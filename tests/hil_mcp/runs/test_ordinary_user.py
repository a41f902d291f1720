"""Cells for an ordinary user, where the suite itself is run by root."""

from __future__ import annotations

import os
import pwd
import shutil
import site
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.cells import OTHER_USER, cell_config

_ROOT = Path(__file__).resolve().parents[3]
_TESTS = [str(Path(__file__).with_name(name)) for name in ("test_cell.py", "test_cell_escapes.py")]
_MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_a_guarded_cell_keeps_its_contract_and_holds_for_an_ordinary_user() -> None:
    cell_config("bubblewrap")
    if os.geteuid() != 0:
        pytest.skip("the suite is run by an ordinary user already")
    account = pwd.getpwnam(OTHER_USER)
    ids = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    as_user = ["setpriv", *ids, "--"]
    # Our own interpreter may be in root's home. `setpriv` can start it there, for it loses root's
    # rights with the start; what that starts cannot.
    check = f"import os, sys; os.stat(sys.executable); os.stat({str(_ROOT)!r})"
    candidates = [sys.executable, f"/usr/bin/python{_MINOR}"]
    python = next((one for one in candidates if _runs([*as_user, one, "-c", check])), None)
    if python is None:
        pytest.skip(f"{OTHER_USER} can start no Python {_MINOR} here")

    with TemporaryDirectory(prefix="hil-mcp-user-") as name:
        shutil.chown(name, OTHER_USER)
        options = ["-q", "-p", "no:cacheprovider", f"--basetemp={name}/pytest"]
        chosen = ["-k", "bubblewrap or name_spaces", *_TESTS]
        done = subprocess.run(
            [*as_user, python, "-B", "-m", "pytest", *options, *chosen],
            cwd=_ROOT,
            env={
                "PATH": os.environ["PATH"],
                "HOME": name,
                "PYTHONPATH": os.pathsep.join([str(_ROOT), *site.getsitepackages()]),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout


def _runs(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
