"""What a patch is worth: hidden tests run on the task's tree with the patch on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.repository.base_tree import start_from_one_commit
from hil_mcp.repository.hidden_tests import (
    TESTS_TIMEOUT_S,
    NotGradableError,
    TestRun,
    apply_patch,
    lay_tests_over,
    run_tests,
)
from hil_mcp.repository.test_names import (
    RequiredTest,
    find_required,
    passes_released_check,
)

if TYPE_CHECKING:
    from hil_mcp.sandbox.sandbox import Sandbox
    from task_store.records import RepositoryEnvironment, RepositoryGold

GRADER_VERSION = "repository-1"
"""Changes when a verdict may."""
_LOG_LIMIT_CHARS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryGrade:
    """What a grader says of one patch.

    Attributes:
        resolved: Every required test passed; None when the patch could not be graded.
        released: What the release's own comparison of names makes of the same run; None when it
            calls the run a failure of its harness, as it does when the tests run out of time.
        reason: One sentence.
        tests: Each required test, in the task's order.
        log: What the tests printed, its middle left out when it is long.
    """

    resolved: bool | None
    released: bool | None
    reason: str
    tests: tuple[RequiredTest, ...] = ()
    log: str = ""


async def grade_patch(
    sandbox: Sandbox,
    environment: RepositoryEnvironment,
    gold: RepositoryGold,
    patch: str,
    *,
    timeout_s: float = TESTS_TIMEOUT_S,
) -> RepositoryGrade:
    """Grade one patch.

    Args:
        sandbox: Fresh, with the task's tree as the agent found it; used up afterwards.
        environment: The task's; only its language is read.
        gold: The hidden tests and their names.
        patch: As submitted; empty counts as a patch that changes nothing.
        timeout_s: Longest run of the tests.

    Raises:
        SandboxError: The sandbox failed, which says nothing about the patch.
    """
    if not gold.fail_to_pass:
        return _not_graded("the task names no test that must pass")
    base = await start_from_one_commit(sandbox)
    try:
        await apply_patch(
            sandbox, patch.encode("utf-8", "surrogateescape"), name="the submitted patch"
        )
        await lay_tests_over(sandbox, base, gold.test_patch.encode("utf-8", "surrogateescape"))
        run = await run_tests(sandbox, gold, environment.language, timeout_s=timeout_s)
    except NotGradableError as exc:
        return _not_graded(str(exc), exc.log)
    return _graded(gold, run, timeout_s)


def _graded(gold: RepositoryGold, run: TestRun, timeout_s: float) -> RepositoryGrade:
    must_pass = (*gold.fail_to_pass, *gold.pass_to_pass)
    tests = tuple(find_required(name, run.ran) for name in must_pass)
    log = _shortened(run.log)
    if run.timed_out:
        return RepositoryGrade(
            resolved=False,
            released=None,
            reason=f"the tests did not end within {timeout_s:g} s",
            tests=tests,
            log=log,
        )
    failed = [test for test in tests if test.status != "passed"]
    reason = f"all {len(tests)} required tests passed"
    if failed:
        reason = f"{len(failed)} of {len(tests)} required tests did not pass: " + ", ".join(
            f"{test.name} ({test.status})" for test in failed[:3]
        )
    return RepositoryGrade(
        resolved=not failed,
        released=all(passes_released_check(name, run.ran) for name in gold.fail_to_pass),
        reason=reason,
        tests=tests,
        log=log,
    )


def _not_graded(reason: str, log: str = "") -> RepositoryGrade:
    return RepositoryGrade(resolved=None, released=None, reason=reason, log=_shortened(log))


def _shortened(log: str) -> str:
    half = _LOG_LIMIT_CHARS // 2
    if len(log) <= _LOG_LIMIT_CHARS:
        return log
    return f"{log[:half]}\n[{len(log) - 2 * half} characters left out]\n{log[-half:]}"
