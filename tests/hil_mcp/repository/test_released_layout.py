"""Tasks in the released layout: our grader and the published steps come to the same result."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from hil_mcp.repository.base_tree import start_from_one_commit
from hil_mcp.repository.grade import RepositoryGrade, grade_patch
from hil_mcp.sandbox.opening import SandboxConfig, open_sandbox
from task_store.importing import import_tasks
from task_store.records import RepositoryEnvironment, RepositoryGold, Task
from task_store.store import TaskStore
from tests.support.released_tasks import (
    FORMS,
    PYTHON,
    RIGHT,
    WRONG,
    ReleasedForm,
    build_image,
    docker,
    graded_by_hand,
    save_archive,
    solution,
    write_layout,
)
from tests.support.sandboxes import docker_address

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module", params=list(FORMS))
def form(request: pytest.FixtureRequest) -> Generator[ReleasedForm]:
    form = FORMS[request.param]
    build_image(form)
    yield form
    docker("rmi", "-f", form.image)


def imported(form: ReleasedForm, folder: Path, home: Path) -> Task:
    store = TaskStore(home)
    results = list(import_tasks(store, write_layout(form, folder)))
    assert [result.error for result in results] == [None]
    return store.get(f"swe_{form.language}")


async def graded(task: Task, patch: str, archive: Path | None = None) -> RepositoryGrade:
    assert isinstance(task.environment, RepositoryEnvironment)
    assert isinstance(task.gold, RepositoryGold)
    config = SandboxConfig(docker_address=docker_address())
    async with open_sandbox(task.environment, archive, config, session_id="grade") as sandbox:
        return await grade_patch(sandbox, task.environment, task.gold, patch, timeout_s=60)


async def test_our_grade_is_that_of_the_published_steps(
    form: ReleasedForm, tmp_path: Path, home: Path
) -> None:
    task = imported(form, tmp_path, home)

    for patch, expected in ((solution(RIGHT), True), (solution(WRONG), False), ("", False)):
        grade = await graded(task, patch)

        assert graded_by_hand(form, patch) is expected
        assert (grade.resolved, grade.released) == (expected, expected), grade


async def test_an_image_shows_one_commit_and_its_ignored_files_stay(
    form: ReleasedForm, tmp_path: Path, home: Path
) -> None:
    task = imported(form, tmp_path, home)
    assert isinstance(task.environment, RepositoryEnvironment)
    config = SandboxConfig(docker_address=docker_address())

    async with open_sandbox(task.environment, None, config, session_id="look") as sandbox:
        await start_from_one_commit(sandbox)
        log = await sandbox.exec(
            ["sh", "-c", "git log --all --oneline | wc -l; git log -p --all | grep -c first"],
            timeout_s=20,
            limit_bytes=1000,
        )

    assert log.text.split() == ["1", "0"]


async def test_an_agent_that_rewrites_the_hidden_tests_files_gains_nothing(
    form: ReleasedForm, tmp_path: Path, home: Path
) -> None:
    task = imported(form, tmp_path, home)
    path = next(iter(form.tests))
    lines = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    forged = lines + "@@ -0,0 +1 @@\n+exit 0\n"

    grade = await graded(task, forged)

    assert grade.resolved is False
    assert grade.tests[0].status == "failed"


async def test_what_cannot_be_graded_is_not_called_unresolved(
    form: ReleasedForm, tmp_path: Path, home: Path
) -> None:
    task = imported(form, tmp_path, home)

    grade = await graded(task, solution(RIGHT).replace("echo 10", "echo 77"))

    assert grade.resolved is None
    assert grade.reason == "the submitted patch does not apply to the task's tree"
    assert "limit.sh" in grade.log


async def test_an_archive_is_loaded_when_docker_does_not_have_the_image(
    tmp_path: Path, home: Path
) -> None:
    build_image(PYTHON)
    archive = tmp_path / "python.tar.zst"
    save_archive(PYTHON.image, archive)
    docker("rmi", "-f", PYTHON.image)
    task = imported(PYTHON, tmp_path, home)

    grade = await graded(task, solution(RIGHT), archive)

    assert grade.resolved is True
    docker("rmi", "-f", PYTHON.image)
    shutil.rmtree(tmp_path / "harbor_swe")
