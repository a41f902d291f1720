"""`hil-mcp grade`: logs, folders and runs, each against the task that its log names."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.main import main
from hil_mcp.events import EventBody, Submission
from hil_mcp.grading import GRADES_FILE, newest_grade
from hil_mcp.modes import Mode
from hil_mcp.run_folder import AttemptRecord, LogHeadEntry, write_record
from hil_mcp.session_reader import read_session
from task_store.records import RepositoryGold, SqlGold, TaskKind
from task_store.store import TaskStore
from tests.support.sessions import submission, write_log
from tests.support.sql_tasks import make_database
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

    from task_store.records import Task

RIGHT = "SELECT name FROM boats WHERE speed > 10"
WRONG = "SELECT name FROM boats WHERE speed > 5"


@pytest.fixture
def task(home: Path, tmp_path: Path) -> Task:
    """A task in the catalogue, with its database."""
    database = make_database(tmp_path / "harbour.sqlite")
    made = replace(make_task("a", "b"), gold=SqlGold(query=RIGHT))
    TaskStore(home).add(made, {"harbour.sqlite": database})
    return TaskStore(home).get("boats")


def make_log(folder: Path, task: Task, *bodies: EventBody) -> Path:
    return anyio.run(lambda: write_log(folder / "session.jsonl", bodies, task=task))


def grade(capsys: pytest.CaptureFixture[str], *paths: Path) -> tuple[int, dict[str, Any], str]:
    status, out, err = run(capsys, "--json", *map(str, paths))
    return status, json.loads(out), err


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["grade", *arguments])
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, out, err


def test_the_last_submission_counts(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = make_log(tmp_path / "good", task, submission(WRONG), submission(RIGHT))
    bad = make_log(tmp_path / "bad", task, submission(RIGHT), submission(WRONG))

    status, document, _ = grade(capsys, good, bad)

    assert status == ExitStatus.DONE
    assert [(s["compat"], s["strict"]) for s in document["sessions"]] == [
        (True, True),
        (False, False),
    ]
    assert (document["n"], document["n_compat"], document["n_strict"]) == (2, 1, 1)
    assert document["n_not_graded"] == 0


def test_the_grade_stands_beside_the_log_and_the_log_is_not_changed(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = make_log(tmp_path / "one", task, submission(RIGHT))
    before = log.read_bytes()

    grade(capsys, log)
    grade(capsys, log)

    (line,) = (log.parent / GRADES_FILE).read_text(encoding="utf-8").splitlines()
    kept = json.loads(line)
    assert kept["session_id"] == read_session(log).start.session_id
    assert kept["submission_digest"] == hashlib.sha256(RIGHT.encode()).hexdigest()
    assert kept["task_digest"] == task.digest
    assert kept["compat"] is kept["strict"] is True
    assert kept["grader_version"]
    assert log.read_bytes() == before


def test_the_newest_grade_that_matches_counts(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = make_log(tmp_path / "one", task, submission(RIGHT))
    grade(capsys, log)
    path = log.parent / GRADES_FILE
    first = json.loads(path.read_text(encoding="utf-8"))
    others = [
        {**first, "strict": False},
        {**first, "submission_digest": "other"},
        {**first, "session_id": "other"},
    ]
    lines = "".join(json.dumps(line) + "\n" for line in (first, *others))
    path.write_text(lines + '{"cut short', encoding="utf-8")

    newest = newest_grade(
        log.parent,
        session_id=first["session_id"],
        submission_digest=first["submission_digest"],
        task_digest=first["task_digest"],
    )

    assert newest is not None
    assert newest.strict is False


def test_a_grade_of_an_older_grader_is_worked_out_again(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = make_log(tmp_path / "one", task, submission(RIGHT))
    grade(capsys, log)
    path = log.parent / GRADES_FILE
    old = {**json.loads(path.read_text(encoding="utf-8")), "grader_version": "0", "strict": False}
    path.write_text(json.dumps(old) + "\n", encoding="utf-8")

    _, document, _ = grade(capsys, log)

    assert document["sessions"][0]["strict"] is True
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2


def test_a_damaged_grades_file_is_refused(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = make_log(tmp_path / "one", task, submission(RIGHT))
    (log.parent / GRADES_FILE).write_text("no grade\n{}\n", encoding="utf-8")

    status, _, err = grade(capsys, log)

    assert status == ExitStatus.DATA
    assert "line 1 is no grade" in err


def test_a_session_without_a_submission_is_wrong(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = make_log(tmp_path / "one", task)

    status, document, _ = grade(capsys, log)

    assert status == ExitStatus.DONE
    (session,) = document["sessions"]
    assert (session["compat"], session["strict"], session["submission_digest"]) == (
        False,
        False,
        None,
    )
    assert session["detail"]["reasons"] == ["nothing was submitted"]


def test_a_log_is_graded_only_against_the_task_that_it_names(
    task: Task, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = replace(task, gold=SqlGold(query=WRONG))
    log = make_log(tmp_path / "one", changed, submission(WRONG))

    status, document, err = grade(capsys, log)

    assert status == ExitStatus.USAGE
    assert document["n_not_graded"] == 1
    assert "boats" in err
    assert not (log.parent / GRADES_FILE).exists()

    TaskStore(home).add(changed, {"harbour.sqlite": tmp_path / "harbour.sqlite"})
    assert grade(capsys, log)[1]["n_strict"] == 1
    # The version that the first log names is still there, and still right for it.
    first = make_log(tmp_path / "first", task, submission(RIGHT))
    assert grade(capsys, first)[1]["n_strict"] == 1


def test_what_could_not_be_graded_is_not_wrong(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = replace(make_task("a"), gold=SqlGold(query="SELECT gone"))
    database = make_database(tmp_path / "harbour.sqlite")
    TaskStore(home).add(broken, {"harbour.sqlite": database})
    log = make_log(tmp_path / "one", broken, submission(RIGHT))

    status, document, _ = grade(capsys, log)
    _, text, _ = run(capsys, str(log))

    assert status == ExitStatus.DATA
    assert document["sessions"][0]["strict"] is None
    assert document["n_not_graded"] == 1
    assert "not graded" in text


def test_a_missing_database_names_the_command_that_fetches_it(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = make_task("a")
    TaskStore(home).add(bare)
    log = make_log(tmp_path / "one", bare, submission(RIGHT))

    status, _, err = grade(capsys, log)

    assert status == ExitStatus.DATA
    assert "hil-mcp tasks fetch boats" in err


def test_a_folder_is_searched_and_one_bad_log_stops_no_other(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_log(tmp_path / "run" / "attempts" / "a", task, submission(RIGHT))
    bad = make_log(tmp_path / "run" / "attempts" / "b", task, submission(RIGHT))
    bad.write_text("no log\n")

    status, document, err = grade(capsys, tmp_path / "run")

    assert status == ExitStatus.DATA
    assert [session["strict"] for session in document["sessions"] if not session["error"]] == [True]
    assert str(bad) in err


def test_a_folder_without_a_log_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()

    status, _, err = grade(capsys, tmp_path / "empty")

    assert status == ExitStatus.DATA
    assert "no session.jsonl in it" in err


def test_a_log_that_was_changed_after_its_attempt_is_refused(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = make_log(tmp_path / "attempt", task, submission(WRONG))
    head = read_session(log).head
    attempt = AttemptRecord(
        attempt_id="boats-1",
        task_id="boats",
        mode=Mode.ASK_HUMAN,
        pass_number=1,
        try_number=1,
        outcome="finished",
        log_head=LogHeadEntry(seq=head.seq, sha256=head.sha256),
    )
    write_record(log.parent, attempt)
    assert grade(capsys, log)[0] == ExitStatus.DONE
    (log.parent / GRADES_FILE).unlink()
    log.unlink()

    make_log(tmp_path / "attempt", task, submission(RIGHT), submission(RIGHT))
    status, _, err = grade(capsys, log)

    assert status == ExitStatus.DATA
    assert "changed after the attempt was closed" in err


def test_a_submission_in_a_file_is_read_from_the_log_s_folder_only(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = hashlib.sha256(RIGHT.encode()).hexdigest()

    def beside(path: str) -> Submission:
        return Submission(kind="sql", path=path, digest=digest)

    inside = make_log(tmp_path / "inside", task, beside("answer.sql"))
    outside = make_log(tmp_path / "outside", task, beside("../inside/answer.sql"))
    gone = make_log(tmp_path / "gone", task, beside("answer.sql"))
    other = make_log(tmp_path / "other", task, beside("answer.sql"))
    (inside.parent / "answer.sql").write_text(RIGHT)
    (other.parent / "answer.sql").write_text(WRONG)

    _, document, err = grade(capsys, inside, outside, gone, other)

    assert [session.get("strict") for session in document["sessions"]] == [True, None, None, None]
    for part in ("is not read", "cannot be read", "not the one whose digest"):
        assert part in err


def test_a_wrong_answer_is_explained_on_the_terminal(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = make_log(tmp_path / "one", task, submission(WRONG))

    status, out, _ = run(capsys, str(log))

    assert status == ExitStatus.DONE
    assert "wrong" in out
    assert "+ ['Ida']" in out
    assert "the gold has 1" in out


def test_the_grade_of_a_full_disk_is_reported(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = make_log(tmp_path / "one", task, submission(RIGHT))
    (log.parent / GRADES_FILE).mkdir()

    status, _, err = grade(capsys, log)

    assert status == ExitStatus.DATA
    assert GRADES_FILE in err


def test_a_starter_task_is_graded_without_an_import(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = TaskStore(home)
    found = next(store.get(one.task_id) for one in store.list() if one.kind is TaskKind.SQL)
    assert isinstance(found.gold, SqlGold)
    assert found.gold.query is not None
    right = make_log(tmp_path / "right", found, submission(found.gold.query))
    wrong = make_log(tmp_path / "wrong", found, submission("SELECT 1"))

    _, document, _ = grade(capsys, right, wrong)

    assert [session["strict"] for session in document["sessions"]] == [True, False]


def test_a_patch_is_graded_by_the_hidden_tests(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIL_MCP_SANDBOX", "local")
    store = TaskStore(home)
    found = next(store.get(o.task_id) for o in store.list() if o.kind is TaskKind.REPOSITORY)
    assert isinstance(found.gold, RepositoryGold)
    right = make_log(tmp_path / "right", found, submission(found.gold.patch or ""))
    empty = make_log(tmp_path / "empty", found, submission(""))
    silent = make_log(tmp_path / "silent", found)

    status, document, _ = grade(capsys, right, empty, silent)

    assert status == ExitStatus.DONE
    assert [session["strict"] for session in document["sessions"]] == [True, False, False]
    assert [session["compat"] for session in document["sessions"]] == [True, False, False]
    assert {"passed"} == {test["status"] for test in document["sessions"][0]["detail"]["tests"]}
