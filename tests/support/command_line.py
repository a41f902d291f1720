"""The command line in this process: what it printed and how it ended."""

from __future__ import annotations

import pytest

from hil_mcp.cli.main import main


def run_main(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of one command."""
    with pytest.raises(SystemExit) as ended:
        main(argv)
    shown = capsys.readouterr()
    return int(ended.value.code or 0), shown.out, shown.err
