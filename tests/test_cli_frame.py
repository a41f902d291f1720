"""The frame of the command: errors become one line and a status."""

from __future__ import annotations

import pytest

from hil_mcp.cli.exit_status import ExitStatus, status_of, worst
from hil_mcp.cli.main import main
from hil_mcp.errors import ConfigError
from judge.errors import JudgeError
from task_store.errors import InvalidTaskError, UnknownTaskError


def test_version_names_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == ExitStatus.DONE
    assert capsys.readouterr().out.startswith("hil-mcp 0.")


def test_an_unknown_option_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--nonsense"])

    assert ended.value.code == ExitStatus.USAGE
    assert "--nonsense" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnknownTaskError("sql-17"), ExitStatus.USAGE),
        (InvalidTaskError("a.toml", "id", "is empty"), ExitStatus.DATA),
        (ConfigError("no"), ExitStatus.USAGE),
        (JudgeError("no", error_class="http"), ExitStatus.JUDGE),
        (KeyboardInterrupt(), ExitStatus.INTERRUPTED),
        (ValueError("ours"), ExitStatus.OURS),
    ],
)
def test_each_party_has_its_status(error: BaseException, status: ExitStatus) -> None:
    assert status_of(error) is status


def test_a_batch_ends_with_the_worst() -> None:
    assert worst([ExitStatus.USAGE, ExitStatus.PROGRAM, ExitStatus.DATA]) is ExitStatus.PROGRAM
    assert worst([]) is ExitStatus.DONE
