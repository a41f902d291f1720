"""The embedded judge on the shared judge cases that are meant for every judge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from judge.embedded import EmbeddedJudge
from task_store.records import Blocker, BlockerId, Registry

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return EmbeddedJudge()


@pytest.fixture(scope="module")
def cases(shared_dir: Path) -> dict[str, Any]:
    """Each case by its id."""
    read = json.loads((shared_dir / "cases.json").read_text(encoding="utf-8"))
    return {case["id"]: case for case in read}


@pytest.fixture(scope="module")
def registry(cases: dict[str, Any]) -> Registry:
    return Registry(
        blockers=tuple(
            Blocker(
                blocker_id=BlockerId(b["id"]),
                description=b["description"],
                resolution=b["resolution"],
                example_questions=tuple(b["example_questions"]),
                type=b["type"],
            )
            for b in cases["R00"]["input"]["blockers"]
        )
    )


@pytest.mark.parametrize("case_id", ["J01", "J02", "J03", "J04", "J05", "J10", "J11", "J12", "J16"])
async def test_a_shared_case_gets_the_verdict_that_it_names(
    judge: EmbeddedJudge, cases: dict[str, Any], registry: Registry, case_id: str
) -> None:
    case = cases[case_id]

    verdict = await judge.decide(case["input"]["question"], registry)

    assert verdict.blocker_id == case["expected"]["match"]
    if "log_flag" in case["expected"]:
        assert case["expected"]["log_flag"] in verdict.flags


@pytest.mark.parametrize("case_id", ["J01", "J02", "J03", "J04", "J05", "J16"])
async def test_what_orders_nobody_about_is_not_flagged(
    judge: EmbeddedJudge, cases: dict[str, Any], registry: Registry, case_id: str
) -> None:
    verdict = await judge.decide(cases[case_id]["input"]["question"], registry)

    assert verdict.flags == ()


async def test_a_question_about_the_schema_is_well_below_a_match(
    judge: EmbeddedJudge, cases: dict[str, Any], registry: Registry
) -> None:
    verdict = await judge.decide(cases["J04"]["input"]["question"], registry)

    assert verdict.blocker_id is None
    assert verdict.confidence is not None
    assert verdict.confidence > 0.5


async def test_the_padded_question_gets_a_verdict_and_the_flag(
    judge: EmbeddedJudge, registry: Registry
) -> None:
    question = ("Which hour is late? " + "padding " * 7_000)[:50_000]

    verdict = await judge.decide(question, registry)

    assert verdict.flags == ("question_truncated",)
