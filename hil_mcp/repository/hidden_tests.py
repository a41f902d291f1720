"""The hidden tests of a task, laid over a tree and run, in a sandbox that no agent has used."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from hil_mcp.repository.runner_output import read_runner_output
from hil_mcp.repository.test_names import RunTest, status_of
from hil_mcp.sandbox.errors import SandboxTimeoutError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.repository.base_tree import TreeId
    from hil_mcp.sandbox.sandbox import ExecResult, Sandbox
    from task_store.records import RepositoryGold

TESTS_TIMEOUT_S = 1800.0
"""The release's own deadline (docs/release.md, section 6)."""
_STEP_TIMEOUT_S = 60.0
_PARSER_TIMEOUT_S = 300.0
_LOG_LIMIT_BYTES = 20_000_000
_NOT_EXECUTABLE = (126, 127)
_RENAMED = re.compile(rb"^rename from (.+)$", re.MULTILINE)

_GIT = """
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
git() { command git -c safe.directory='*' -c core.hooksPath=/dev/null "$@"; }
"""
# $1 is the base tree, stdin the names. What the base does not have is removed, whatever it is.
_RESTORE = """
tr '\\0' '\\n' | while IFS= read -r file; do
  rm -rf -- "./$file"
  if git cat-file -e "$1:$file" 2>/dev/null; then git checkout -q "$1" -- ":(literal)$file"; fi
done
"""
# $1 run script; the rest are its arguments. The two logs stay for the parser.
_LOGS = "d=${TMPDIR:-/tmp}; "
_RUN_RELEASED = _LOGS + 'script=$1; shift; bash "$script" "$@" >"$d/stdout.log" 2>"$d/stderr.log"'
_PARSE_RELEASED = f"""
{_LOGS}
python=python; command -v python >/dev/null || python=python3
"$python" "$1" "$d/stdout.log" "$d/stderr.log" "$d/output.json" >&2 && cat "$d/output.json"
"""


class NotGradableError(Exception):
    """The tests could not be run, which says nothing about the submission.

    Attributes:
        log: What was printed on the way.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """The hidden tests, run once."""

    __test__ = False

    ran: tuple[RunTest, ...]
    log: str
    timed_out: bool = False


async def apply_patch(sandbox: Sandbox, patch: bytes, *, name: str) -> None:
    """Apply a patch to the working tree; an empty one changes nothing.

    Raises:
        NotGradableError: It does not apply.
    """
    if not patch.strip():
        return
    # Some released patches lack their last line's end, and git takes them for cut off.
    data = patch if patch.endswith(b"\n") else patch + b"\n"
    done = await _git(sandbox, "git apply --whitespace=nowarn -", stdin=data)
    if done.status != 0:
        raise NotGradableError(f"{name} does not apply to the task's tree", done.error_text)


async def lay_tests_over(sandbox: Sandbox, base: TreeId, test_patch: bytes) -> None:
    """Apply the hidden test patch; test files that a submission changed get the base's state first.

    Raises:
        NotGradableError: It does not apply.
    """
    if not test_patch.strip():
        return
    data = test_patch if test_patch.endswith(b"\n") else test_patch + b"\n"
    numbers = await _git(sandbox, "git apply --numstat -z -", stdin=data)
    if numbers.status != 0:
        raise NotGradableError("the hidden test patch cannot be read", numbers.error_text)
    names = [row.split(b"\t", 2)[2] for row in numbers.stdout.split(b"\0") if row]
    names += _RENAMED.findall(data)
    restored = await _git(sandbox, _RESTORE, base, stdin=b"\0".join(names) + b"\0")
    if restored.status != 0:
        raise NotGradableError("the test files cannot be put back", restored.error_text)
    await apply_patch(sandbox, data, name="the hidden test patch")


async def run_tests(
    sandbox: Sandbox, gold: RepositoryGold, language: str, *, timeout_s: float
) -> TestRun:
    """Run the tests that a task names, by the image's own scripts or by the task's command.

    Raises:
        NotGradableError: The runner is not there, or its report cannot be read.
    """
    names = [*gold.fail_to_pass, *gold.pass_to_pass]
    if gold.run_script_path is None:
        return await _run_command(sandbox, [*gold.test_command, *names], language, timeout_s)
    return await _run_released(sandbox, gold, names, timeout_s)


async def _run_command(
    sandbox: Sandbox, command: Sequence[str], language: str, timeout_s: float
) -> TestRun:
    try:
        done = await sandbox.exec(command, timeout_s=timeout_s, limit_bytes=_LOG_LIMIT_BYTES)
    except SandboxTimeoutError as exc:
        return TestRun(ran=(), log=_log(exc.stdout, exc.stderr), timed_out=True)
    log = _log(done.stdout, done.stderr)
    ran = read_runner_output(language, log)
    if not ran and done.status in _NOT_EXECUTABLE:
        raise NotGradableError(f"the test command {command[0]} cannot be run", log)
    return TestRun(ran=ran, log=log)


async def _run_released(
    sandbox: Sandbox, gold: RepositoryGold, names: Sequence[str], timeout_s: float
) -> TestRun:
    script, parser = gold.run_script_path or "", gold.parser_script_path or ""
    text = await sandbox.exec(
        ["cat", script], timeout_s=_STEP_TIMEOUT_S, limit_bytes=_LOG_LIMIT_BYTES
    )
    if text.status != 0:
        raise NotGradableError(f"the image has no {script}", text.error_text)
    arguments = released_arguments(names, text.text)
    timed_out = False
    try:
        await sandbox.exec(
            ["sh", "-c", _RUN_RELEASED, "sh", script, *arguments],
            timeout_s=timeout_s,
            limit_bytes=_LOG_LIMIT_BYTES,
        )
    except SandboxTimeoutError:
        timed_out = True
    logs = await sandbox.exec(
        ["sh", "-c", _LOGS + 'cat "$d/stdout.log" "$d/stderr.log"'],
        timeout_s=_STEP_TIMEOUT_S,
        limit_bytes=_LOG_LIMIT_BYTES,
    )
    if timed_out:
        return TestRun(ran=(), log=logs.text, timed_out=True)
    parsed = await sandbox.exec(
        ["sh", "-c", _PARSE_RELEASED, "sh", parser],
        timeout_s=_PARSER_TIMEOUT_S,
        limit_bytes=_LOG_LIMIT_BYTES,
    )
    if parsed.status != 0:
        raise NotGradableError(
            f"the image's parser {parser} failed: {parsed.error_text}", logs.text
        )
    return TestRun(ran=_released_results(parsed.stdout, logs.text), log=logs.text)


def released_arguments(names: Sequence[str], script: str) -> list[str]:
    """What the released runner script is given for these tests (docs/release.md, section 6)."""
    if any(" | " in name for name in names):
        return list(dict.fromkeys(name.partition(" | ")[0] for name in names))
    if "ansible-test" in script and any("::" in name for name in names):
        return list(dict.fromkeys(name.partition("::")[0] for name in names))
    return list(names)


def _released_results(data: bytes, log: str) -> tuple[RunTest, ...]:
    try:
        document: object = json.loads(data)
        rows = cast("dict[str, list[dict[str, str]]]", document)["tests"]
        return tuple(
            RunTest(
                name=str(row["name"]),
                status=status_of(str(row["status"])),
            )
            for row in rows
        )
    except (ValueError, KeyError, TypeError) as exc:
        raise NotGradableError("the report of the image's parser cannot be read", log) from exc


async def _git(sandbox: Sandbox, script: str, *arguments: str, stdin: bytes = b"") -> ExecResult:
    return await sandbox.exec(
        ["sh", "-c", _GIT + script, "sh", *arguments],
        timeout_s=_STEP_TIMEOUT_S,
        limit_bytes=_LOG_LIMIT_BYTES,
        stdin=stdin,
    )


def _log(stdout: bytes, stderr: bytes) -> str:
    gap = b"" if not stdout or stdout.endswith(b"\n") else b"\n"
    return (stdout + gap + stderr).decode("utf-8", "replace")
