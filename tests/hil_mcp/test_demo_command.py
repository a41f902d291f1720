"""`hil-mcp demo`: the whole loop, through a real server process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.main import main
from hil_mcp.scoring import score_session
from hil_mcp.session_reader import read_session


def test_the_demo_plays_grades_and_scores_one_session(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo"])

    shown = capsys.readouterr().out
    assert ended.value.code == ExitStatus.DONE
    assert "> ask_human(question: From what time of day on" in shown
    assert "< irrelevant question" in shown
    assert "wrong" in shown
    (log,) = (home / "sessions").glob("demo-*/session.jsonl")
    assert str(log) in shown
    score = score_session(read_session(log))
    # One blocker of three, by three questions: one good, one vague, one a repeat.
    assert score.outcomes == {"answered": 1, "irrelevant": 1, "repeat": 1}
    figures = score.figures
    assert (figures.precision, figures.recall, figures.ask_f1) == (1 / 3, 1 / 3, 1 / 3)


def test_the_demo_s_document_holds_score_and_grade(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["demo", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert document["ask_f1"] == 1 / 3
    assert (document["grade"]["compat"], document["grade"]["strict"]) == (False, False)
    assert document["grade"]["detail"]["unexpected_rows"]
    assert Path(document["log"]).is_file()
