"""The statement that an agent is given, through `hil-mcp tasks prompt`."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.main import main
from hil_mcp.errors import ConfigError
from hil_mcp.modes import Mode
from hil_mcp.prompts import PromptChoice, PromptStyle, prompt_digest, prompt_for, statement_for
from task_store.records import Registry
from task_store.store import TaskStore
from tests.support.tasks import make_blocker, make_task

if TYPE_CHECKING:
    from pathlib import Path


def _prompt(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["tasks", "prompt", *arguments])
    return int(ended.value.code or 0), capsys.readouterr().out


def test_a_sql_task_names_its_database_its_question_and_how_to_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text = _prompt(capsys, "lockers_late")

    assert status == ExitStatus.DONE
    assert text.startswith("Database: lockers\nQuestion: I am putting together")
    assert "submit_sql" in text
    assert "18:40" not in text


def test_full_info_adds_every_resolution(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = _prompt(capsys, "lockers_late", "--mode", "full_info")

    for blocker in TaskStore(home).get("lockers_late").registry.blockers:
        assert blocker.resolution.strip() in text


def test_a_repository_task_is_its_problem_text_alone(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, text = _prompt(capsys, "backup_prune")

    assert text == TaskStore(home).get("backup_prune").statement.strip() + "\n"
    assert "ask_human" not in text


def test_the_document_names_the_digest_of_the_template(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, text = _prompt(capsys, "lockers_late", "--json")

    document = json.loads(text)
    assert document["prompt_digest"] == prompt_digest()
    assert document["prompt_digest"] != prompt_digest(PromptChoice(style=PromptStyle.RELEASED))


def test_the_released_words_are_given_on_demand_and_missed_by_name() -> None:
    task = dataclasses.replace(make_task("a"), released_instructions={"baseline": "Run it."})

    assert statement_for(task, Mode.BASELINE, PromptStyle.RELEASED) == "Run it."
    with pytest.raises(ConfigError, match="no released instruction for mode spec_only"):
        statement_for(task, Mode.SPEC_ONLY, PromptStyle.RELEASED)


def test_braces_in_a_resolution_are_given_as_they_are() -> None:
    odd = 'Use "{agent_question}" literally,\nline two: 100% {{x}}'
    task = dataclasses.replace(make_task(), registry=Registry(blockers=(make_blocker("fmt", odd),)))

    assert odd in statement_for(task, Mode.FULL_INFO)


def test_instructions_come_first_and_change_the_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("Work alone.\n")

    _, plain = _prompt(capsys, "lockers_late", "--json")
    _, given = _prompt(capsys, "lockers_late", "--instructions", str(words), "--json")

    before, after = json.loads(plain), json.loads(given)
    assert after["prompt"] == "Work alone.\n\n" + before["prompt"]
    assert after["prompt_digest"] != before["prompt_digest"]


@pytest.mark.parametrize("content", [None, " \n"])
def test_instructions_that_say_nothing_are_refused(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tmp_path / "words.txt"
    if content is not None:
        words.write_text(content)

    status, text = _prompt(capsys, "lockers_late", "--instructions", str(words))

    assert (status, text) == (ExitStatus.USAGE, "")


def test_the_tool_is_announced_only_where_it_is_there() -> None:
    choice = PromptChoice(announce_tool=True)

    assert "ask_human" in prompt_for(make_task(), Mode.ASK_HUMAN, choice)
    assert "ask_human" not in prompt_for(make_task(), Mode.BASELINE, choice)
    assert prompt_digest(choice) != prompt_digest()
