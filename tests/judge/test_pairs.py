"""Files of pairs and labels, what a judge is shown of a registry, and pairs made from tasks."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

import pytest

from judge.derived_pairs import KINDS, SourceTask, derive_pairs
from judge.errors import PairsError
from judge.pairs import (
    Pair,
    digest_of_pairs,
    read_pairs,
    shown_registry,
    write_pairs,
)
from task_store.records import Blocker, BlockerId, Registry
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from pathlib import Path


def _pair(
    question: str = "Which tide?",
    expected: str | None = "tide",
    *,
    hide_example: bool = False,
    hide_blocker: str | None = None,
) -> Pair:
    return Pair(
        task="t",
        question=question,
        expected=expected,
        kind="paraphrase",
        hide_example=hide_example,
        hide_blocker=hide_blocker,
    )


def _registry() -> Registry:
    return Registry(
        blockers=tuple(
            Blocker(
                blocker_id=BlockerId(name),
                description=f"No {name} is given.",
                resolution="r",
                example_questions=(f"-  Which {name}?", f"What {name} is meant?", "Which one?"),
            )
            for name in ("tide", "berth", "crew")
        )
    )


def test_pairs_survive_their_file(tmp_path: Path) -> None:
    pairs = (_pair("¿Qué\u2028marea?", None, hide_blocker="tide"), _pair(hide_example=True))

    write_pairs(tmp_path / "pairs.jsonl", pairs)

    assert read_pairs(tmp_path / "pairs.jsonl") == pairs
    assert digest_of_pairs(pairs) != digest_of_pairs(pairs[:1])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "holds no pair"),
        ("nonsense", "line 1: the line: invalid json"),
        ('\n{"task": "t"}\n', "line 2: question: field required"),
        ('{"task": 1, "question": "q", "expected": null, "kind": "k"}', "line 1: task: input"),
        (
            '{"task": "t", "question": "q", "expected": null, "kind": "k", "hide_exampel": true}',
            "line 1: hide_exampel: unknown key; a pair has task, question, expected, kind, hide",
        ),
        ('{"task": "t", "question": "q", "expect": null, "kind": "k"}', "line 1: expect: unknown"),
        (
            '{"task": "t", "question": " \\n", "expected": null, "kind": "k"}',
            "line 1: task and question must be given",
        ),
        (
            '{"task": "t", "question": "q", "expected": "a", "kind": "k", "hide_blocker": "a"}',
            "line 1: expected and hide_blocker are both 'a'",
        ),
    ],
)
def test_a_file_that_holds_no_pairs_is_refused(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(PairsError) as refused:
        read_pairs(path)

    assert f"{path}: {error}" in str(refused.value)


def test_a_file_that_is_not_utf_8_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(b"\n" + "Qué".encode("latin-1"))

    with pytest.raises(PairsError, match="line 2: is not UTF-8: save the file as UTF-8"):
        read_pairs(path)


def test_a_byte_order_mark_is_no_part_of_the_first_pair(tmp_path: Path) -> None:
    write_pairs(tmp_path / "plain.jsonl", [_pair()])
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + (tmp_path / "plain.jsonl").read_bytes())

    assert read_pairs(marked) == (_pair(),)


def test_where_a_pair_stood_is_no_part_of_it(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.jsonl", [_pair()])

    pairs = read_pairs(tmp_path / "pairs.jsonl")
    write_pairs(tmp_path / "again.jsonl", pairs)

    assert pairs[0].place == f"{tmp_path / 'pairs.jsonl'}: line 1"
    assert digest_of_pairs(pairs) == digest_of_pairs([_pair()])
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "pairs.jsonl").read_bytes()


def test_a_file_that_cannot_be_read_or_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PairsError, match="cannot be read"):
        read_pairs(tmp_path / "none")
    with pytest.raises(PairsError, match="cannot be written"):
        write_pairs(tmp_path / "none" / "deep", [])


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    write_pairs(path, [_pair()])
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))  # like a disk that gets full
    try:
        with pytest.raises(PairsError, match="cannot be written"):
            write_pairs(path, [_pair()] * 1_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_written_again_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    path, link = tmp_path / "pairs.jsonl", tmp_path / "link.jsonl"
    write_pairs(path, [])
    path.chmod(0o640)
    link.symlink_to(path)

    write_pairs(link, [_pair()])

    assert link.is_symlink()
    assert read_pairs(path) == (_pair(),)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_pairs(pipe, [_pair()])
        written = os.read(reading, 10_000)
    finally:
        os.close(reading)

    assert written.startswith(b'{"task": "t"')
    assert pipe.is_fifo()


def test_a_hidden_example_is_taken_out_of_every_list_with_or_without_bullet_and_blanks() -> None:
    shown = shown_registry(_registry(), _pair("Which tide?", hide_example=True))

    assert shown.blockers[0].example_questions == ("What tide is meant?", "Which one?")
    assert len(shown.blockers[1].example_questions) == 3
    assert (
        shown.digest
        == shown_registry(_registry(), _pair(" Which  tide?", hide_example=True)).digest
    )
    everywhere = shown_registry(_registry(), _pair("Which one?", hide_example=True))
    assert [len(blocker.example_questions) for blocker in everywhere.blockers] == [2, 2, 2]
    assert shown.digest != everywhere.digest


def test_a_hidden_blocker_is_not_shown() -> None:
    shown = shown_registry(_registry(), _pair(hide_blocker="tide"))

    assert [blocker.blocker_id for blocker in shown.blockers] == ["berth", "crew"]


def test_a_registry_of_which_nothing_is_hidden_is_shown_itself() -> None:
    registry = _registry()

    assert shown_registry(registry, _pair()) is registry


def _sources() -> list[SourceTask]:
    return [
        SourceTask(task="one", group="harbour", registry=_registry()),
        SourceTask(task="two", group="harbour", registry=make_task("fog", "ice").registry),
        SourceTask(task="far", group="desert", registry=make_task("sand").registry),
    ]


def test_pairs_of_every_kind_are_made_and_fit_their_tasks() -> None:
    pairs = derive_pairs(_sources())

    assert {pair.kind for pair in pairs} == set(KINDS)
    ids = {
        source.task: {blocker.blocker_id for blocker in source.registry.blockers}
        for source in _sources()
    }
    for pair in pairs:
        assert (pair.expected is not None) == (pair.kind == "paraphrase")
        assert {pair.expected, pair.hide_blocker} - {None} <= ids[pair.task]
    other = {pair.question for pair in pairs if pair.task == "one" and pair.kind == "other_task"}
    assert other == {"What does fog mean?", "What does ice mean?"}


def test_the_same_tasks_give_the_same_pairs_and_a_new_task_changes_no_others() -> None:
    first, again = derive_pairs(_sources(), seed=3), derive_pairs(_sources(), seed=3)
    without_far = derive_pairs(_sources()[:2], seed=3)

    assert first == again
    assert without_far == tuple(pair for pair in first if pair.task != "far")


def test_a_task_without_blockers_gives_no_pairs() -> None:
    source = SourceTask(task="none", group="g", registry=Registry(blockers=()))

    assert derive_pairs([source]) == ()
