"""The repository tasks of the starter pack, run for real in a copy of each tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from task_store.records import RepositoryEnvironment, RepositoryGold
from task_store.tree import tree_files
from tests.task_store.starter.sealed import REPOSITORY_IDS, TASKS, blocker_pairs, proof_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A copy of a task's tree in which tests are run as the task says."""

    path: Path
    gold: RepositoryGold

    def apply(self, patch: str) -> None:
        subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-"],
            cwd=self.path,
            input=patch.encode(),
            check=True,
            # The copy lies outside any repository, and nothing of the machine's git is wanted.
            env={"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(self.path.parent)},
        )

    def run(self, *test_ids: str) -> subprocess.CompletedProcess[str]:
        """Run these tests, or all without an id."""
        program, *arguments = self.gold.test_command
        assert program == "python3"
        return subprocess.run(
            [sys.executable, "-S", *arguments, *test_ids],
            cwd=self.path,
            env={"PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


def visible_tree(task_id: str) -> Path:
    environment = TASKS[task_id].environment
    assert isinstance(environment, RepositoryEnvironment)
    assert environment.tree is not None
    assert environment.tree.source is not None
    return Path(environment.tree.source)


def copy_of(task_id: str, folder: Path, *, solved: bool) -> Copy:
    """The tree with the hidden tests, before or after the solution."""
    gold = TASKS[task_id].gold
    assert isinstance(gold, RepositoryGold)
    assert gold.patch is not None
    copy = Copy(path=folder / "tree", gold=gold)
    shutil.copytree(visible_tree(task_id), copy.path, ignore=shutil.ignore_patterns("__pycache__"))
    if solved:
        copy.apply(gold.patch)
    copy.apply(gold.test_patch)
    return copy


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, bool]:
    """Whether each test that was run passed, by its id, from the verbose report."""
    found: dict[str, bool] = {}
    for line in done.stderr.splitlines():
        if " ... " in line and "(" in line:
            test_id = line.split("(", 1)[1].split(")", 1)[0]
            found[test_id] = line.endswith("... ok")
    return found


def test_there_are_three_repository_tasks() -> None:
    assert len(REPOSITORY_IDS) == 3


@pytest.mark.parametrize("task_id", REPOSITORY_IDS)
def test_the_full_information_passes_every_visible_and_hidden_test(
    task_id: str, tmp_path: Path
) -> None:
    copy = copy_of(task_id, tmp_path, solved=True)

    done = copy.run()

    assert done.returncode == 0, done.stderr
    assert set(verdicts(done)) == {*copy.gold.fail_to_pass, *copy.gold.pass_to_pass}


@pytest.mark.parametrize("task_id", REPOSITORY_IDS)
def test_without_a_change_the_old_tests_pass_and_no_new_one_does(
    task_id: str, tmp_path: Path
) -> None:
    copy = copy_of(task_id, tmp_path, solved=False)

    old = copy.run(*copy.gold.pass_to_pass)
    new = copy.run(*copy.gold.fail_to_pass)

    assert old.returncode == 0, old.stderr
    assert new.returncode == 1
    assert [test_id for test_id, passed in verdicts(new).items() if passed] == []


@pytest.mark.parametrize(("task_id", "blocker_id"), blocker_pairs(REPOSITORY_IDS))
def test_every_wrong_guess_at_one_blocker_fails_a_hidden_test(
    task_id: str, blocker_id: str, tmp_path: Path
) -> None:
    proof = proof_of(task_id)
    sealed = proof.blockers[blocker_id]
    copy = copy_of(task_id, tmp_path, solved=True)
    file = copy.path / proof.file
    solved = file.read_text(encoding="utf-8")

    assert solved.count(sealed.right) == 1
    for guess in sealed.wrong:
        file.write_text(solved.replace(sealed.right, guess), encoding="utf-8")
        done = copy.run(*copy.gold.fail_to_pass)

        # A failure and not an error: the guess runs, and its result is a wrong one.
        assert done.stderr.splitlines()[-1].startswith("FAILED (failures="), (guess, done.stderr)


@pytest.mark.parametrize("task_id", REPOSITORY_IDS)
def test_a_tree_is_a_small_program_of_several_modules(task_id: str) -> None:
    files = tree_files(visible_tree(task_id))
    modules = [n for n in files if n.endswith(".py") and not n.startswith("tests/")]
    lines = sum(
        len(file.read_text(encoding="utf-8").splitlines())
        for name, file in files.items()
        if name.endswith(".py")
    )

    assert len(modules) >= 4
    assert 200 <= lines <= 500
