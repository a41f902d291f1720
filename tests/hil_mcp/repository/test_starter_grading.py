"""The starter repository tasks, graded in each sandbox: what resolves them and what does not."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from hil_mcp.repository.grade import RepositoryGrade, grade_patch
from task_store.records import RepositoryEnvironment, RepositoryGold
from tests.support.sandboxes import EACH_SANDBOX, opened
from tests.task_store.starter.sealed import REPOSITORY_IDS, TASKS, blocker_pairs, proof_of
from tests.task_store.starter.test_repository_tasks import visible_tree

if TYPE_CHECKING:
    from pathlib import Path

    from hil_mcp.sandbox.sandbox import SandboxKind


def gold_of(task_id: str) -> RepositoryGold:
    gold = TASKS[task_id].gold
    assert isinstance(gold, RepositoryGold)
    return gold


async def graded(kind: SandboxKind, task_id: str, patch: str) -> RepositoryGrade:
    environment = TASKS[task_id].environment
    assert isinstance(environment, RepositoryEnvironment)
    async with opened(kind, visible_tree(task_id)) as sandbox:
        return await grade_patch(sandbox, environment, gold_of(task_id), patch, timeout_s=120)


class Solved:
    """A copy of a task's tree with the solution on it, changed further and taken as a patch."""

    def __init__(self, task_id: str, folder: Path) -> None:
        self.path = folder / "solved"
        subprocess.run(["cp", "-a", visible_tree(task_id), self.path], check=True)
        self._git("init", "-q")
        self._git("add", "-A")
        self._git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "base")
        patch = gold_of(task_id).patch or ""
        subprocess.run(["git", "apply", "-"], cwd=self.path, input=patch.encode(), check=True)

    def patch(self) -> str:
        self._git("add", "-A")
        return self._git("diff", "--cached", "HEAD")

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, check=True, capture_output=True, text=True
        )
        return done.stdout


@pytest.mark.parametrize("kind", EACH_SANDBOX)
@pytest.mark.parametrize(
    "task_id",
    [
        REPOSITORY_IDS[0],
        *(pytest.param(task_id, marks=pytest.mark.docker) for task_id in REPOSITORY_IDS[1:]),
    ],
)
async def test_the_solution_resolves_the_task_and_an_empty_patch_does_not(
    task_id: str, kind: SandboxKind
) -> None:
    solved = await graded(kind, task_id, gold_of(task_id).patch or "")
    empty = await graded(kind, task_id, "")

    assert (solved.resolved, solved.released) == (True, True), solved.log
    assert (empty.resolved, empty.released) == (False, False)
    assert len(solved.tests) == len(gold_of(task_id).fail_to_pass) + len(
        gold_of(task_id).pass_to_pass
    )


@pytest.mark.parametrize("kind", ["local", pytest.param("docker", marks=pytest.mark.docker)])
async def test_a_patch_that_breaks_other_tests_does_not_resolve(
    kind: SandboxKind, tmp_path: Path
) -> None:
    task_id = REPOSITORY_IDS[0]
    solved = Solved(task_id, tmp_path)
    modules = [p for p in solved.path.glob("*/report.py") if "tests" not in p.parts]
    module = modules[0]
    module.write_text("raise ImportError('broken on purpose')\n" + module.read_text())
    broken_report = await graded(kind, task_id, solved.patch())

    assert broken_report.resolved is False
    missing = {t.name for t in broken_report.tests if t.status != "passed"}
    assert missing & set(gold_of(task_id).pass_to_pass)


@pytest.mark.parametrize("kind", ["local", "bubblewrap"])
async def test_one_guess_does_not_resolve(kind: SandboxKind, tmp_path: Path) -> None:
    task_id, blocker_id = blocker_pairs(REPOSITORY_IDS)[0]
    proof = proof_of(task_id)
    solved = Solved(task_id, tmp_path)
    file = solved.path / proof.file
    sealed = proof.blockers[blocker_id]
    file.write_text(file.read_text().replace(sealed.right, sealed.naive))

    grade = await graded(kind, task_id, solved.patch())

    assert grade.resolved is False
    assert "did not pass" in grade.reason


@pytest.mark.docker
@pytest.mark.parametrize("kind", ["local", "bubblewrap", "docker"])
@pytest.mark.parametrize(("task_id", "blocker_id"), blocker_pairs(REPOSITORY_IDS))
async def test_no_guess_at_any_blocker_resolves_in_any_sandbox(
    task_id: str, blocker_id: str, kind: SandboxKind, tmp_path: Path
) -> None:
    proof = proof_of(task_id)
    sealed = proof.blockers[blocker_id]
    solved = Solved(task_id, tmp_path)
    file = solved.path / proof.file
    right = file.read_text()
    for guess in sealed.wrong:
        file.write_text(right.replace(sealed.right, guess))
        grade = await graded(kind, task_id, solved.patch())

        assert grade.resolved is False, guess
        assert any(t.status == "failed" for t in grade.tests), grade.log
