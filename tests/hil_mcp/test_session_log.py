"""The log on disk: whole lines, a chain, nothing lost, nothing half-written."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from typing import TYPE_CHECKING

import pytest

from hil_mcp.errors import DataError
from hil_mcp.events import EVENT_TYPES, Delivery, Question, QuestionStarted, Submission
from hil_mcp.session import CANT_ANSWER
from hil_mcp.session_log import LogLockedError, LogWriteError, SessionLog
from hil_mcp.session_reader import read_session
from tests.support.judges import RuleJudge
from tests.support.sessions import ask_all, make_session, question, submission, write_log

if TYPE_CHECKING:
    from pathlib import Path


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


async def test_each_line_names_its_number_and_the_digest_of_the_one_before(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    await ask_all(log, ["a", None])

    lines = [line.rstrip(b"\n") for line in _lines(log)]
    events = [json.loads(line) for line in lines]

    assert [event["seq"] for event in events] == list(range(len(events)))
    assert [event["prev"] for event in events] == [
        "",
        *(hashlib.sha256(line).hexdigest() for line in lines[:-1]),
    ]
    assert events[0]["event"] == "session_start"
    assert events[-1] == events[-1] | {"event": "session_end", "reason": "disconnected"}
    assert all(event["ts"].endswith("Z") for event in events)


async def test_the_log_holds_no_resolution_but_what_was_answered(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    await ask_all(log, ["a", None])

    text = log.read_text(encoding="utf-8")

    assert "Answer for a." in text
    assert "Answer for b." not in text


async def test_a_question_of_odd_characters_is_logged_as_it_came(tmp_path: Path) -> None:
    odd = 'line\u2028two\n"quoted" \ud800 tail \U0001f600'
    session = make_session(tmp_path / "session.jsonl", RuleJudge(lambda _: None))
    await session.begin()

    await session.ask(odd, meta={})
    await session.close("closed")

    (logged,) = [
        e.body for e in read_session(session.log.path).events if e.body.event == "question"
    ]
    assert getattr(logged, "question", None) == odd


async def test_only_one_server_writes_a_log(tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "session.jsonl")

    with pytest.raises(LogLockedError, match="another server"):
        SessionLog(tmp_path / "session.jsonl")

    log.close()
    SessionLog(tmp_path / "session.jsonl").close()


async def test_a_full_disk_leaves_no_half_line_and_the_next_event_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SessionLog(tmp_path / "session.jsonl")
    log.append(QuestionStarted(number=1, question_digest="x"))
    before = log.path.read_bytes()
    real_write = os.write

    def short_write(file: int, data: bytes) -> int:
        real_write(file, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", short_write)
    with pytest.raises(LogWriteError, match="No space left"):
        log.append(Delivery(number=1, delivered=False))
    monkeypatch.undo()

    assert log.path.read_bytes() == before
    log.append(Delivery(number=1, delivered=False))
    log.close()
    second = json.loads(_lines(log.path)[1])
    assert (second["seq"], second["prev"]) == (1, hashlib.sha256(before[:-1]).hexdigest())


async def test_an_event_that_could_not_be_synced_is_cut_off_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SessionLog(tmp_path / "session.jsonl")
    log.append(QuestionStarted(number=1, question_digest="x"), durable=False)

    def failing_sync(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing_sync)
    with pytest.raises(LogWriteError):
        log.append(Delivery(number=1, delivered=False))
    monkeypatch.undo()

    assert log.path.read_bytes() == b""
    assert log.head.seq == -1
    log.close()


async def test_a_question_that_cannot_be_written_down_is_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session(tmp_path / "session.jsonl", RuleJudge(lambda _: "a"))
    await session.begin()
    real_fsync = os.fsync

    def failing_sync(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing_sync)

    with pytest.raises(LogWriteError):
        await session.ask("What does a mean?", meta={})

    monkeypatch.setattr(os, "fsync", real_fsync)
    assert await session.ask("What does a mean?", meta={}) == "Answer for a."
    await session.close("closed")
    assert [q.outcome for q in _questions(session.log.path)] == ["answered"]


def _questions(path: Path) -> list[Question]:
    return read_session(path).of(Question)


async def test_a_last_line_cut_by_a_crash_is_forgiven_and_named(tmp_path: Path) -> None:
    log = await write_log(tmp_path / "s.jsonl", [question(1, "a"), question(2, None)])
    with log.open("ab") as file:
        file.write(b'{"seq":3,"event":"quest')

    record = read_session(log)

    assert len(_questions(log)) == 2
    assert record.torn == b'{"seq":3,"event":"quest'
    assert "line 4 is incomplete" in record.warnings[0]


async def test_a_damaged_line_is_named_and_refused_unless_told_to_skip(tmp_path: Path) -> None:
    log = await write_log(tmp_path / "s.jsonl", [question(1, "a"), question(2, "b")])
    first, second, third = _lines(log)
    log.write_bytes(first + second + b"garbage{{{\n" + third)

    with pytest.raises(DataError, match=r"line 3: not a JSON object.*--skip-bad-lines"):
        read_session(log)

    record = read_session(log, skip_bad_lines=True)
    assert record.skipped_lines == 1
    assert len(record.of(Question)) == 2


async def test_a_changed_line_breaks_the_chain(tmp_path: Path) -> None:
    log = await write_log(tmp_path / "s.jsonl", [question(1, None), question(2, "b")])
    log.write_bytes(
        log.read_bytes().replace(b'"response":"irrelevant question"', b'"response":"x"')
    )

    with pytest.raises(DataError, match=r"line 3: the chain is broken"):
        read_session(log)


async def test_a_removed_line_breaks_the_chain(tmp_path: Path) -> None:
    log = await write_log(tmp_path / "s.jsonl", [question(1, None), question(2, "b")])
    first, _, third = _lines(log)
    log.write_bytes(first + third)

    with pytest.raises(DataError, match="chain is broken"):
        read_session(log)


async def test_a_line_that_stands_twice_is_counted_once(tmp_path: Path) -> None:
    log = await write_log(tmp_path / "s.jsonl", [question(1, "a"), question(2, None)])
    first, second, third = _lines(log)
    log.write_bytes(first + second + second + third)

    record = read_session(log)

    assert record.duplicate_events == 1
    assert len(record.of(Question)) == 2


async def test_unknown_events_and_fields_of_a_known_major_are_passed_over(tmp_path: Path) -> None:
    log = await write_log(tmp_path / "s.jsonl", [])
    (first,) = _lines(log)
    start = json.loads(first) | {"colour": "blue"}
    line = json.dumps(start).encode()
    later = {
        "seq": 1,
        "ts": "2030-01-01T00:00:00Z",
        "event": "mood",
        "prev": hashlib.sha256(line).hexdigest(),
    }
    log.write_bytes(line + b"\n" + json.dumps(later).encode() + b"\n")

    record = read_session(log)

    assert record.unknown_events == 1
    assert "newer hil-mcp" in record.warnings[0]


@pytest.mark.parametrize("schema", ["hil-mcp/session/9.0", "hil-mcp/session/2", "other/1", ""])
async def test_a_log_from_the_future_is_refused(tmp_path: Path, schema: str) -> None:
    log = await write_log(tmp_path / "s.jsonl", [])
    log.write_bytes(log.read_bytes().replace(b"hil-mcp/session/1", schema.encode()))

    with pytest.raises(DataError, match="schema"):
        read_session(log)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "session_start is missing"),
        (b"[1]\n", "line 1: not a JSON object"),
        (b'{"seq":0}\n', "line 1: not an event: ts, event, prev missing"),
        (
            b'{"seq":0,"ts":"x","event":"delivery","prev":"","number":1,"delivered":true}\n',
            "ts is not a time",
        ),
        (
            b'{"seq":0,"ts":"2026-01-01T00:00:00Z","event":"delivery","prev":""}\n',
            "delivery: number: field required",
        ),
    ],
)
def test_a_file_that_is_no_log_is_refused_by_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)

    with pytest.raises(DataError, match=message):
        read_session(path)


def test_a_missing_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.jsonl: cannot be read: No such file"):
        read_session(tmp_path / "nowhere.jsonl")


async def test_submissions_survive_the_round_trip(tmp_path: Path) -> None:
    log = await write_log(tmp_path / "s.jsonl", [submission("SELECT 1"), submission("SELECT 2")])

    assert [s.content for s in read_session(log).of(Submission)] == ["SELECT 1", "SELECT 2"]


def test_every_event_type_has_the_name_it_is_filed_under() -> None:
    assert all(name == kind.event for name, kind in EVENT_TYPES.items())
    assert len(EVENT_TYPES) == 10


async def test_a_judge_that_breaks_is_a_failed_judgement_and_never_a_no(tmp_path: Path) -> None:
    def broken(_: str) -> str | None:
        raise RuntimeError("Answer for b.")

    session = make_session(tmp_path / "session.jsonl", RuleJudge(broken))
    await session.begin()

    reply = await session.ask("What does b mean?", meta={})
    await session.close("closed")

    text = session.log.path.read_text(encoding="utf-8")
    assert reply == CANT_ANSWER
    assert '"class":"internal"' in text
    assert "Answer for b." not in text
