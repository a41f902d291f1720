"""Registries in every form that was ever released, and those that are refused."""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from task_store import InvalidTaskError, Registry
from task_store.registry_parser import RESERVED_IDS, parse_registry

if TYPE_CHECKING:
    from pathlib import Path


def blocker(blocker_id: object, **fields: object) -> dict[str, object]:
    return {"id": blocker_id, "description": "d", "resolution": "r", **fields}


def parsed(*blockers: dict[str, object]) -> Registry:
    return parse_registry({"blockers": list(blockers)}, place="r.json").registry


@pytest.mark.parametrize(
    ("raw_id", "clean"),
    [
        ("rating_floor\n", "rating_floor"),
        ("```text\nport_default\n```", "port_default"),
        ('```json\n"port_default"\n```', "port_default"),
        ('```json\n{"id": "port_default"}\n```', "port_default"),
        ("```port_default```", "port_default"),
        ("``` \nport_default\n  ```\n", "port_default"),
    ],
)
def test_an_id_loses_blanks_and_fence_with_a_warning_that_names_it(raw_id: str, clean: str) -> None:
    result = parse_registry([blocker(raw_id)], place="r.json")

    assert [b.blocker_id for b in result.registry.blockers] == [clean]
    assert repr(raw_id) in result.warnings[0]


def test_a_type_may_stand_in_a_list_of_one() -> None:
    registry = parsed(
        blocker("a", type=["missing parameters"], subtype=[]), blocker("b", type=None)
    )

    assert [b.type for b in registry.blockers] == ["missing parameters", None]
    with pytest.raises(InvalidTaskError, match=r"blockers\[0\]\.type: holds 2 values"):
        parsed(blocker("a", type=["x", "y"]))


def test_older_names_of_the_examples_are_read_in_their_order() -> None:
    raw = [
        blocker("a", trigger_questions=["T?"]),
        blocker("b", acceptable_questions=["A?"], trigger_questions=["no"]),
        blocker("c", example_questions=["E?"], acceptable_questions=["no"]),
        blocker("d"),
    ]
    before = copy.deepcopy(raw)

    registry = parse_registry(raw, place="r.json").registry

    assert [b.example_questions for b in registry.blockers] == [("T?",), ("A?",), ("E?",), ()]
    assert raw == before


def test_all_wrappings_give_the_same_registry() -> None:
    blockers = [blocker("a", example_questions=["What?"]), blocker("b", type="schema")]
    entries = [
        {"blocker_id": b["id"], **{k: v for k, v in b.items() if k != "id"}} for b in blockers
    ]
    wrappings: list[object] = [
        {"blockers": blockers},
        blockers,
        {"version": 1, "entries": entries},
        json.dumps({"blockers": blockers}),
        json.dumps(json.dumps(blockers)),
    ]

    digests = {parse_registry(raw, place="r.json").registry.digest for raw in wrappings}

    assert len(digests) == 1


def test_a_bullet_before_an_example_question_is_dropped() -> None:
    registry = parsed(blocker("a", example_questions=["-  Which one?", "-1 or 1?", " * Why? "]))

    assert registry.blockers[0].example_questions == ("Which one?", "-1 or 1?", "Why? ")


def test_a_resolution_is_kept_byte_for_byte() -> None:
    resolution = ' Use "{agent_question}",\r\nline two: 100% {{x}}\t\u2028\n'

    assert parsed(blocker("fmt", resolution=resolution)).blockers[0].resolution == resolution


@pytest.mark.parametrize("empty", [None, "", " \n", "[]", [], {"blockers": []}, "null"])
def test_an_empty_registry_comes_in_marked(empty: object) -> None:
    result = parse_registry(empty, place="r.json")

    assert len(result.registry) == 0
    assert result.warnings == ("the registry is empty: no blocker was loaded",)


def test_an_id_used_twice_is_refused_with_both_places() -> None:
    with pytest.raises(InvalidTaskError, match=r"'A' stands at index 0 and index 2"):
        parsed(blocker("a"), blocker("b"), blocker("A\n"))


@pytest.mark.parametrize("word", ["UNKNOWN", "None", "NO_MATCH\n", *sorted(RESERVED_IDS)])
def test_a_word_for_none_is_no_id(word: str) -> None:
    with pytest.raises(InvalidTaskError, match=r"blockers\[0\]\.id: .* says that none matches"):
        parsed(blocker(word))


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ([blocker("")], "r.json: blockers[0].id: is empty"),
        ([blocker("```text\n```")], "blockers[0].id: '```text\\n```' holds no id"),
        ([{"description": "d"}], "blockers[0].id: is missing"),
        ([blocker(7)], "blockers[0].id: is a number, a string is expected"),
        ([blocker("a", resolution="")], "blockers[0].resolution: is empty"),
        ([blocker("a", resolution="\ud800")], "blockers[0].resolution: holds half of a surrogate"),
        ([blocker("a", description=None)], "blockers[0].description: is missing"),
        ([blocker("a", example_questions="Q?")], "blockers[0].example_questions: is a string"),
        ([blocker("a", example_questions=[True])], "example_questions[0]: is a boolean"),
        (["a"], "blockers[0]: is a string, an object is expected"),
        ({"blockers": {}}, "blockers: is an object, a list of objects is expected"),
        ({"blocker": []}, 'has no "blockers"'),
        ("{", "is text that is not JSON"),
        (3, "is a number, an object or a list of blockers is expected"),
        (json.dumps(json.dumps(json.dumps(json.dumps("[]")))), "is a string, an object or"),
    ],
)
def test_what_is_wrong_is_named(raw: object, complaint: str) -> None:
    with pytest.raises(InvalidTaskError, match=re.escape(complaint)):
        parse_registry(raw, place="r.json")


def registry_cases(shared_dir: Path) -> dict[str, dict[str, Any]]:
    cases = json.loads((shared_dir / "cases.json").read_text(encoding="utf-8"))
    return {case["id"]: case for case in cases if case["area"] == "registry"}


def test_the_shared_cases_hold(shared_dir: Path) -> None:
    cases = registry_cases(shared_dir)

    for case in cases.values():
        given, expected = case["input"], case["expected"]
        if "blockers" not in given:
            continue
        before = copy.deepcopy(given)
        if expected.get("loads") is False:
            with pytest.raises(InvalidTaskError) as refused:
                parse_registry(given, place=case["id"])
            mentioned: list[str] = expected.get("error_mentions", [])
            assert all(part in str(refused.value) for part in mentioned), case["id"]
            continue
        result = parse_registry(given, place=case["id"])
        found = result.registry.blockers
        assert given == before
        assert [b.resolution for b in found] == [b["resolution"] for b in given["blockers"]]
        assert expected.get("n_blockers", len(found)) == len(found)
        assert expected.get("ids", [b.blocker_id for b in found]) == [b.blocker_id for b in found]
        assert expected.get("types", [b.type for b in found]) == [b.type for b in found]
        examples = {b.blocker_id: list(b.example_questions) for b in found}
        assert expected.get("example_questions", examples) == examples
        if expected.get("warning_names_the_raw_id"):
            assert repr(given["blockers"][0]["id"]) in result.warnings[0]
    assert parse_registry(cases["R01"]["input"], place="R01").registry.get("rating_floor")
