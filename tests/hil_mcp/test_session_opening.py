"""Which log a server writes: fresh, resumed after a crash, or beside one that is taken."""

from __future__ import annotations

import os
import shutil
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from hil_mcp.counting import CountingRules
from hil_mcp.errors import ConfigError, DataError
from hil_mcp.events import Question, SessionResumed
from hil_mcp.judging import BackgroundJudge
from hil_mcp.modes import Mode
from hil_mcp.scoring import score_session
from hil_mcp.session import IRRELEVANT, SessionConditions
from hil_mcp.session_log import utc_now
from hil_mcp.session_opening import OpenedSession, open_session
from hil_mcp.session_reader import read_session
from tests.support.judges import ScriptedJudge
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path

TASK = make_task("a", "b", "c", "d")
CONDITIONS = SessionConditions(
    mode=Mode.ASK_HUMAN, prompt_digest="prompt", counting_rules=CountingRules.RELEASE_1
)


def _open(
    tmp_path: Path,
    decisions: list[str | None],
    *,
    log: Path | None = None,
    conditions: SessionConditions = CONDITIONS,
    now: datetime | None = None,
) -> OpenedSession:
    judge = BackgroundJudge(ScriptedJudge([*decisions]), None)
    return open_session(
        TASK,
        conditions,
        judge,
        log_path=log,
        sessions_dir=tmp_path / "sessions",
        now=lambda: now or utc_now(),
    )


async def _ask(opened: OpenedSession, times: int) -> list[str]:
    session = opened.session
    await session.begin()
    return [await session.ask("Which one is it?", meta={}) for _ in range(times)]


def _crash(opened: OpenedSession) -> None:
    """Leave the log as a killed server does: no end, the lock free."""
    opened.session.log.close()


async def _ready(opened: OpenedSession) -> OpenedSession:
    judge = opened.session._judge  # pyright: ignore[reportPrivateUsage]  # made ready by the server
    assert isinstance(judge, BackgroundJudge)
    await judge.run()
    return opened


async def test_a_restarted_server_goes_on_and_the_answers_stay_used_up(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    first = await _ready(_open(tmp_path, ["a", "b", "c"], log=log))
    assert IRRELEVANT not in await _ask(first, 3)
    _crash(first)

    second = await _ready(_open(tmp_path, ["d"], log=log))
    replies = await _ask(second, 1)
    await second.session.close("disconnected")

    record = read_session(log)
    assert replies == [IRRELEVANT]
    assert [q.number for q in record.of(Question)] == [1, 2, 3, 4]
    assert record.of(SessionResumed) == [SessionResumed(bytes_cut=0, cut_digest=None)]
    assert score_session(record).figures.n_blockers_discovered == 3


async def test_a_torn_last_line_is_cut_off_and_its_length_kept(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    first = await _ready(_open(tmp_path, ["a"], log=log))
    await _ask(first, 1)
    _crash(first)
    with log.open("ab") as file:
        file.write(b'{"seq":9')

    second = await _ready(_open(tmp_path, [], log=log))
    await second.session.begin()
    await second.session.close("closed")

    (resumed,) = read_session(log).of(SessionResumed)
    assert resumed.bytes_cut == 8
    assert resumed.cut_digest is not None


async def test_without_a_given_log_the_crashed_session_is_found(tmp_path: Path) -> None:
    first = await _ready(_open(tmp_path, ["a"]))
    await _ask(first, 1)
    _crash(first)

    second = _open(tmp_path, [])

    assert second.session.session_id == first.session.session_id
    _crash(second)


async def test_an_ended_session_is_over(tmp_path: Path) -> None:
    first = await _ready(_open(tmp_path, ["a"]))
    await _ask(first, 1)
    await first.session.close("disconnected")

    second = _open(tmp_path, [])

    assert second.session.session_id != first.session.session_id
    _crash(second)


@pytest.mark.parametrize(
    "conditions",
    [
        SessionConditions(mode=Mode.SPEC_ONLY, prompt_digest="prompt"),
        SessionConditions(mode=Mode.ASK_HUMAN, prompt_digest="other"),
        SessionConditions(mode=Mode.ASK_HUMAN, prompt_digest="prompt"),
    ],
)
async def test_a_crashed_session_of_other_conditions_is_left_alone(
    tmp_path: Path, conditions: SessionConditions
) -> None:
    first = await _ready(_open(tmp_path, ["a"]))
    await _ask(first, 1)
    _crash(first)

    second = _open(tmp_path, [], conditions=conditions)

    assert second.session.session_id != first.session.session_id
    _crash(second)


async def test_an_old_crashed_session_is_left_alone(tmp_path: Path) -> None:
    first = await _ready(_open(tmp_path, ["a"]))
    await _ask(first, 1)
    _crash(first)

    second = _open(tmp_path, [], now=utc_now() + timedelta(hours=2))

    assert second.session.session_id != first.session.session_id
    _crash(second)


@pytest.mark.parametrize("is_given", [True, False])
async def test_a_log_that_another_server_holds_is_not_written(
    tmp_path: Path, *, is_given: bool
) -> None:
    log = tmp_path / "session.jsonl" if is_given else None
    first = await _ready(_open(tmp_path, ["a", "b"], log=log))
    await _ask(first, 1)

    second = await _ready(_open(tmp_path, ["c"], log=log))
    await _ask(second, 1)
    await _ask(first, 1)

    assert second.session.log.path != first.session.log.path
    assert "another server" in second.remarks[0]
    assert len(read_session(first.session.log.path).of(Question)) == 2
    _crash(first)
    _crash(second)


async def test_an_ended_log_that_is_asked_for_stays_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    first = await _ready(_open(tmp_path, ["a"], log=log))
    await _ask(first, 1)
    await first.session.close("disconnected")
    before = log.read_bytes()

    second = await _ready(_open(tmp_path, ["b"], log=log))
    await _ask(second, 1)
    await second.session.close("disconnected")

    assert log.read_bytes() == before
    assert second.session.log.path == tmp_path / "session-2.jsonl"
    assert "session-2.jsonl" in second.remarks[0]


def test_a_file_that_is_no_log_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "notes.txt"
    log.write_text("buy milk\n")

    with pytest.raises(DataError, match=r"notes\.txt: line 1"):
        _open(tmp_path, [], log=log)

    assert log.read_text() == "buy milk\n"


@pytest.mark.skipif(shutil.which("true") is None or os.name != "posix", reason="needs POSIX")
def test_a_log_in_a_place_that_cannot_be_written_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match="cannot be written there"):
        _open(tmp_path, [], log=tmp_path / "file" / "session.jsonl")
