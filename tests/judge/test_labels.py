"""Files of human labels, and labels put over pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from judge.errors import PairsError
from judge.labels import read_labels, with_labels
from judge.pairs import Pair

if TYPE_CHECKING:
    from pathlib import Path


def _pair(question: str = "Which tide?", expected: str | None = "tide") -> Pair:
    return Pair(task="t", question=question, expected=expected, kind="paraphrase")


def _near_miss() -> Pair:
    return Pair(
        task="t", question="Which tide?", expected=None, kind="near_miss", hide_blocker="tide"
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.csv"


def test_human_labels_overrule_derived_ones_and_add_pairs(path: Path) -> None:
    path.write_text(
        "task,question,expected,note\n"
        "t,Which tide?,berth,a mix-up\n"
        't,"Which one, then?",crew,\n'
        "t,Any wishes?,-,\n",
        encoding="utf-8",
    )

    pairs = with_labels([_pair(), _near_miss()], read_labels(path))

    assert [(pair.question, pair.expected, pair.kind) for pair in pairs] == [
        ("Which tide?", "berth", "paraphrase"),
        ("Which tide?", None, "near_miss"),
        ("Which one, then?", "crew", "human"),
        ("Any wishes?", None, "human"),
    ]


def test_a_label_overrules_a_pair_whose_question_has_other_blanks(path: Path) -> None:
    path.write_text(
        'task,question,expected\nt,"  Which  tide?\n",crew\nt,Which tide? ,crew\n', encoding="utf-8"
    )

    pairs = with_labels([_pair(" Which tide?\u00a0")], read_labels(path))

    assert [(pair.question, pair.expected) for pair in pairs] == [(" Which tide?\u00a0", "crew")]


def test_a_label_knows_the_line_that_it_begins_on(path: Path) -> None:
    path.write_text('task,question,expected\n\nt,"Which\none?",crew\nt,And?,\n', encoding="utf-8")

    labels = read_labels(path)

    assert [label.place for label in labels] == [f"{path}: line 3", f"{path}: line 5"]
    assert with_labels([_pair("And?")], labels)[0].place == f"{path}: line 5"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("task,question\nt,q\n", "line 1: column expected is missing: found 'task', 'question';"),
        ("", "line 1: column task is missing: found nothing;"),
        ("task;question;expected\nt;q;x\n", "found 'task;question;expected'; the first line must"),
        ("\nTask,Question,Expected\n", "line 2: column task is missing: found 'Task', 'Question'"),
        ("task,question,expected,task\n", "line 1: column task stands twice"),
        ("task,question,expected\n,q,x\n", "line 2: task and question must be given"),
        ("task,question,expected\nt,q\n", "line 2: 2 columns, and the header has 3: an empty"),
        (
            "task,question,expected\nt,Which one, then?,x\n",
            "line 2: 4 columns, and the header has 3: put a question that has a comma into quotes",
        ),
        (
            'task,question,expected\nt,a,\nt,"Which one?,x\nt,And?,\n',
            "line 3: unexpected end of data: is a closing quote missing",
        ),
        (
            'task,question,expected\nt,"Which one?,x\nt,"And?",y\n',
            "line 2: ',' expected after '\"': is a closing quote missing",
        ),
        (
            'task,question,expected\nt,"Which one?,x\nt,And?",y\n',
            "line 2: the question runs over another row: is a closing quote missing?",
        ),
        (
            f"task,question,expected\nt,{'a' * 131_073},x\n",
            "line 2: field larger than field limit",
        ),
    ],
)
def test_labels_that_could_be_read_in_two_ways_are_refused(
    path: Path, text: str, error: str
) -> None:
    path.write_text(text, encoding="utf-8")

    with pytest.raises(PairsError) as refused:
        read_labels(path)

    assert str(refused.value).startswith(f"{path}: ")
    assert error in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_labels_that_contradict_each_other_are_refused_with_both_lines(path: Path) -> None:
    path.write_text("task,question,expected\nt,And?,crew\nt,So?,\nt,And?,\n", encoding="utf-8")

    with pytest.raises(PairsError) as refused:
        read_labels(path)

    assert str(refused.value) == (
        f"{path}: line 4: says no blocker of a question of which {path}: line 2 says 'crew': "
        "keep one of the two"
    )


def test_a_label_given_twice_is_kept_once(path: Path) -> None:
    path.write_text("task,question,expected\nt,And?,-\nt,And?,\n", encoding="utf-8")

    assert [label.question for label in read_labels(path)] == ["And?"]


def test_a_question_keeps_its_line_separators(path: Path) -> None:
    path.write_text("task,question,expected\nt,Which\u2028one?,crew\n", encoding="utf-8")

    assert [label.question for label in read_labels(path)] == ["Which\u2028one?"]


def test_a_file_as_a_spreadsheet_writes_it_is_read(path: Path) -> None:
    path.write_bytes(b'\xef\xbb\xbftask,question,expected\r\nt,"Which\none?",crew\r\n,,\r\n')

    assert [(label.question, label.expected) for label in read_labels(path)] == [
        ("Which\none?", "crew")
    ]
