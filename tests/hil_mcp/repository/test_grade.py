"""What a grade says when something is missing, late or odd; the plain cases have starter tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hil_mcp.repository.grade import RepositoryGrade, grade_patch
from task_store.records import RepositoryEnvironment, RepositoryGold
from tests.support.sandboxes import opened

if TYPE_CHECKING:
    from pathlib import Path

ENVIRONMENT = RepositoryEnvironment(repository="pumps/pumps", language="go")
PATCH = "diff --git a/limit b/limit\n--- a/limit\n+++ b/limit\n@@ -1 +1 @@\n-10\n+42\n"
TEST_PATCH = (
    "diff --git a/check.sh b/check.sh\nnew file mode 100755\n--- /dev/null\n+++ b/check.sh\n"
    "@@ -0,0 +1,2 @@\n+#!/bin/sh\n"
    '+[ "$(cat limit)" = 42 ] && echo "--- PASS: $1 (0s)" || echo "--- FAIL: $1 (0s)"\n'
)
GOLD = RepositoryGold(
    patch=PATCH,
    test_patch=TEST_PATCH,
    fail_to_pass=("TestLimit",),
    test_command=("./check.sh",),
)
RUN_SCRIPT = 'cd "$(cat {folder}/where)"; for name; do ./check.sh "$name"; done\n'
PARSER = (
    "import json, sys\n"
    "rows = [line.split() for line in open(sys.argv[1]) if line.startswith('---')]\n"
    "words = dict(PASS='PASSED', FAIL='FAILED')\n"
    "tests = [dict(name=r[2], status=words[r[1][:-1]]) for r in rows]\n"
    "json.dump(dict(tests=tests), open(sys.argv[3], 'w'))\n"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "limit").write_text("10\n")
    return folder


async def graded(
    tree: Path, gold: RepositoryGold, patch: str, *, timeout_s: float = 20
) -> RepositoryGrade:
    async with opened("local", tree) as sandbox:
        (tree.parent / "where").write_text(sandbox.working_dir)
        return await grade_patch(sandbox, ENVIRONMENT, gold, patch, timeout_s=timeout_s)


def released(folder: Path, *, script: str = RUN_SCRIPT, parser: str = PARSER) -> RepositoryGold:
    """The same task with scripts as an image has them."""
    (folder / "run_script.sh").write_text(script.replace("{folder}", str(folder)))
    (folder / "parser.py").write_text(parser)
    return replace(
        GOLD,
        test_command=(),
        run_script_path=str(folder / "run_script.sh"),
        parser_script_path=str(folder / "parser.py"),
    )


@pytest.mark.parametrize("patch", [PATCH, PATCH.removesuffix("\n")])
async def test_a_right_patch_resolves_with_either_kind_of_runner(tree: Path, patch: str) -> None:
    own = await graded(tree, GOLD, patch)
    scripted = await graded(tree, released(tree.parent), patch)

    assert own.resolved is True
    assert own.reason == "all 1 required tests passed"
    assert (scripted.resolved, scripted.released) == (True, True)
    assert "--- PASS: TestLimit" in scripted.log


async def test_a_wrong_patch_is_unresolved_and_the_log_is_kept(tree: Path) -> None:
    grade = await graded(tree, released(tree.parent), PATCH.replace("42", "41"))

    assert (grade.resolved, grade.released) == (False, False)
    assert grade.reason == "1 of 1 required tests did not pass: TestLimit (failed)"
    assert "--- FAIL: TestLimit" in grade.log


@pytest.mark.parametrize("is_released", [False, True])
async def test_tests_that_never_end_are_the_patchs_own_doing(tree: Path, is_released: bool) -> None:
    slow = TEST_PATCH.replace("+#!/bin/sh", "+#!/bin/sh\n+echo begun; sleep 60").replace(
        "+1,2", "+1,3"
    )
    gold = replace(released(tree.parent) if is_released else GOLD, test_patch=slow)

    grade = await graded(tree, gold, PATCH, timeout_s=1)

    assert grade.resolved is False
    assert grade.released is None
    assert grade.reason == "the tests did not end within 1 s"
    assert "begun" in grade.log


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"test_patch": "no diff\n"}, "the hidden test patch cannot be read"),
        (
            {"test_patch": PATCH.replace("-10", "-11")},
            "the hidden test patch does not apply to the task's tree",
        ),
        ({"test_command": ("no-such-runner",)}, "the test command no-such-runner cannot be run"),
        ({"fail_to_pass": ()}, "the task names no test that must pass"),
        ({"run_script_path": "/nowhere/run.sh"}, "the image has no /nowhere/run.sh"),
    ],
)
async def test_what_is_wrong_with_the_task_is_not_the_patchs_fault(
    tree: Path, change: dict[str, str | tuple[str, ...]], reason: str
) -> None:
    grade = await graded(tree, replace(GOLD, **change), PATCH)  # pyright: ignore[reportArgumentType]

    assert grade.resolved is None
    assert grade.released is None
    assert grade.reason == reason


@pytest.mark.parametrize(
    "parser", ["raise SystemExit('broken')", "open(__import__('sys').argv[3], 'w').write('[]')"]
)
async def test_a_parser_that_fails_makes_no_verdict(tree: Path, parser: str) -> None:
    grade = await graded(tree, released(tree.parent, parser=parser), PATCH)

    assert grade.resolved is None
    assert "parser" in grade.reason
    assert "--- PASS: TestLimit" in grade.log


async def test_test_files_that_a_patch_made_changed_or_moved_are_put_back(tree: Path) -> None:
    (tree / "check.sh").write_text("#!/bin/sh\necho old\n")
    (tree / "check.sh").chmod(0o755)
    body = TEST_PATCH.split("@@\n", 1)[1]
    over_old = (
        "diff --git a/check.sh b/check.sh\n--- a/check.sh\n+++ b/check.sh\n"
        "@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo old\n" + body.split("\n", 1)[1]
    )
    moved = (
        "diff --git a/check.sh b/gone.sh\nsimilarity index 100%\n"
        "rename from check.sh\nrename to gone.sh\n"
    )

    grade = await graded(tree, replace(GOLD, test_patch=over_old), moved + PATCH)

    assert grade.resolved is True


async def test_a_long_log_is_cut_in_the_middle(tree: Path) -> None:
    gold = replace(GOLD, test_command=("sh", "-c", "seq 1 60000; ./check.sh TestLimit"))

    grade = await graded(tree, gold, PATCH)

    assert grade.resolved is True
    assert len(grade.log) < 201_000
    assert "characters left out]" in grade.log
