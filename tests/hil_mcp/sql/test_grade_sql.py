"""Grading one submission: gold and submission run under the same guards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hil_mcp.sql.gold_order import TEXT_AS_NUMBERS, TIE_AT_LIMIT, UNKNOWN_TIES
from hil_mcp.sql.golden_csv import CANNOT_TELL
from hil_mcp.sql.grade import grade_sql
from hil_mcp.sql.runner import SqlLimits
from task_store.records import SqlGold
from tests.support.sql_tasks import make_database

if TYPE_CHECKING:
    from pathlib import Path

    from hil_mcp.grading import Finding

SCRIPT = """
CREATE TABLE boats(id INTEGER, name TEXT, length TEXT, speed REAL);
INSERT INTO boats VALUES (1, 'Ida', '9', 7.5), (2, 'Karl', '10', 7.5), (3, 'Nora', '8', 12.25);
"""
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
QUICK = SqlLimits(deadline_s=0.5, wait_s=5.0, max_parallel=2)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return make_database(tmp_path / "boats.sqlite", SCRIPT)


async def graded(database: Path, gold: str, submission: str | None) -> Finding:
    return await grade_sql(SqlGold(query=gold), database, submission)


def reasons(finding: Finding) -> list[str]:
    found = finding.detail["reasons"]
    assert isinstance(found, list)
    return [str(reason) for reason in found]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


async def test_every_shared_case_gets_its_verdict(shared_dir: Path, tmp_path: Path) -> None:
    cases: list[dict[str, Any]] = [
        case
        for case in json.loads((shared_dir / "cases.json").read_text(encoding="utf-8"))
        if case["area"] == "sql_compare"
    ]
    scripts = {case["id"]: case["input"].get("setup", "") for case in cases}
    different: list[str] = []

    for case in cases:
        script = scripts[case["id"]]
        if script.startswith("as "):
            script = scripts[script.removeprefix("as ")]
        database = make_database(tmp_path / f"{case['id']}.sqlite", script)
        finding = await graded(database, case["input"]["gold"], case["input"]["pred"])
        if finding.compat is not case["expected"]["compat"]:
            different.append(case["id"])

    assert len(cases) == 12
    assert different == []


@pytest.mark.parametrize(
    ("gold", "submission", "compat", "strict"),
    [
        ("SELECT id FROM boats ORDER BY id", "SELECT id FROM boats ORDER BY id DESC", True, False),
        ("SELECT id FROM boats", "SELECT id FROM boats ORDER BY id DESC", True, True),
        ("SELECT name FROM boats ORDER BY speed", "SELECT name FROM boats ORDER BY 1", True, True),
        (
            "SELECT name FROM boats ORDER BY speed",
            "SELECT name FROM boats ORDER BY speed, name DESC",
            True,
            True,
        ),
        (
            "SELECT name FROM boats ORDER BY speed DESC, id",
            "SELECT name FROM boats ORDER BY speed DESC, id DESC",
            True,
            False,
        ),
        (
            "SELECT speed, count(*) FROM boats GROUP BY speed ORDER BY count(*) DESC",
            "SELECT speed, count(*) AS n FROM boats GROUP BY speed ORDER BY n",
            True,
            False,
        ),
        (
            "WITH w AS (SELECT * FROM boats ORDER BY id) SELECT id FROM w",
            "SELECT id FROM boats ORDER BY id DESC",
            True,
            True,
        ),
        (
            "SELECT id, row_number() OVER (ORDER BY id) AS n FROM boats",
            "SELECT id, id FROM boats ORDER BY id DESC",
            True,
            True,
        ),
        (
            "SELECT id FROM boats UNION SELECT 9 ORDER BY 1 DESC",
            "SELECT id FROM boats UNION SELECT 9 ORDER BY 1",
            True,
            False,
        ),
        ("SELECT 0.104", "SELECT 0.106", False, True),
        ("SELECT id FROM boats", "SELECT id, id + 1 FROM boats", True, False),
        ("SELECT 1", "SELECT nothing", False, False),
        ("SELECT 1", "DELETE FROM boats", False, False),
        ("SELECT 1", "BEGIN", False, False),
        ("SELECT 1", "SELECT 1; SELECT 1", False, False),
        ("SELECT 1", None, False, False),
    ],
)
async def test_a_submission_gets_two_verdicts(
    database: Path, gold: str, submission: str | None, compat: bool, strict: bool
) -> None:
    finding = await graded(database, gold, submission)

    assert (finding.compat, finding.strict) == (compat, strict)
    disagreement = [reason for reason in reasons(finding) if "the released check" in reason]
    assert bool(disagreement) is (compat is not strict)


@pytest.mark.parametrize(
    ("gold", "note"),
    [
        ("SELECT name FROM boats ORDER BY speed LIMIT 1", TIE_AT_LIMIT),
        ("SELECT name, speed FROM boats ORDER BY speed ASC LIMIT 1;", TIE_AT_LIMIT),
        ("SELECT length FROM boats ORDER BY length", TEXT_AS_NUMBERS),
        ("SELECT name FROM boats ORDER BY length DESC", TEXT_AS_NUMBERS),
        ("SELECT DISTINCT name FROM boats ORDER BY speed", UNKNOWN_TIES),
        ("SELECT name FROM boats ORDER BY name COLLATE NOCASE", UNKNOWN_TIES),
        ("SELECT speed * 2 AS twice FROM boats ORDER BY twice + 1", UNKNOWN_TIES),
        ("SELECT name FROM boats ORDER BY speed LIMIT 1 OFFSET 1", UNKNOWN_TIES),
    ],
)
async def test_a_doubtful_gold_is_noted(database: Path, gold: str, note: str) -> None:
    finding = await graded(database, gold, gold)

    assert finding.strict is True
    assert finding.detail["gold_notes"] == [note]


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT name FROM boats ORDER BY speed DESC LIMIT 1",
        "SELECT name FROM boats ORDER BY speed LIMIT 2",
        "SELECT name FROM boats ORDER BY speed LIMIT 9",
        "SELECT id FROM boats ORDER BY id",
        "SELECT name FROM boats ORDER BY name NULLS LAST, id",
        "SELECT name AS last FROM boats ORDER BY last",
        "SELECT id FROM boats WHERE 0 ORDER BY id LIMIT 1",
        "SELECT name FROM boats",
    ],
)
async def test_a_sound_gold_is_not_noted(database: Path, gold: str) -> None:
    finding = await graded(database, gold, gold)

    assert finding.strict is True
    assert finding.detail["gold_notes"] == []


async def test_a_submission_that_takes_too_long_is_wrong(database: Path) -> None:
    finding = await grade_sql(
        SqlGold(query=None, result_csv="a\n1\n"), database, f"{ENDLESS} WHERE x < 0", limits=QUICK
    )

    assert (finding.compat, finding.strict) == (False, False)
    assert "ran longer than 0.5 s" in reasons(finding)[0]


async def test_a_submission_without_end_is_wrong_and_costs_no_more_than_its_limit(
    database: Path,
) -> None:
    finding = await graded(database, "SELECT 1", ENDLESS)

    assert finding.strict is False
    assert reasons(finding) == ["the submission gives more than 100,000 rows or too much text"]


@pytest.mark.parametrize(
    "submission",
    ["SELECT 'Ida' AS a, 3 AS b UNION ALL SELECT NULL, 1.5", "VALUES ('Ida', 3.0), ('', 1.5)"],
)
async def test_the_golden_csv_stands_in_for_a_gold_that_cannot_run(
    database: Path, submission: str
) -> None:
    gold = SqlGold(query="SELECT gone FROM boats", result_csv="a,b\nIda,3.0\n,1.5\n")

    finding = await grade_sql(gold, database, submission)

    assert (finding.compat, finding.strict) == (True, True)
    (note,) = finding.detail["gold_notes"]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    assert note == f"the gold query fails: no such column: gone: {CANNOT_TELL}"


async def test_the_golden_csv_refuses_a_wrong_answer(database: Path) -> None:
    gold = SqlGold(query=None, result_csv='a\n""\n7\n')

    right = await grade_sql(gold, database, "SELECT 7 UNION ALL SELECT NULL")
    wrong = await grade_sql(gold, database, "SELECT 8 UNION ALL SELECT NULL")

    assert (right.strict, wrong.strict, wrong.compat) == (True, False, False)


@pytest.mark.parametrize(
    ("gold", "reason"),
    [
        (SqlGold(query=None), "the task has no gold query, and there is no golden CSV"),
        (
            SqlGold(query="SELECT gone", result_csv=""),
            "the gold query fails: no such column: gone, and there is no golden CSV",
        ),
        (
            SqlGold(query="BEGIN"),
            "the gold query is no query that returns rows, and there is no golden CSV",
        ),
    ],
)
async def test_without_a_gold_there_is_no_verdict(
    database: Path, gold: SqlGold, reason: str
) -> None:
    finding = await grade_sql(gold, database, "SELECT 1")

    assert (finding.compat, finding.strict) == (None, None)
    assert reasons(finding) == [reason]


async def test_without_the_database_there_is_no_verdict(tmp_path: Path) -> None:
    gold = SqlGold(query=None, result_csv="a\n1\n")

    finding = await grade_sql(gold, tmp_path / "gone.sqlite", "SELECT 1")

    assert not finding.is_graded
    assert "could not be run" in reasons(finding)[0]


async def test_infinities_and_equal_names_are_graded_and_the_departure_is_said(
    database: Path,
) -> None:
    finding = await graded(database, "SELECT 9e999 AS v, 1 AS v", "SELECT 9e999 AS v, 1 AS v")

    assert (finding.compat, finding.strict) == (True, True)
    assert finding.detail["departures"] == [
        "the released check ends in an error on two columns of one name",
        "the released check ends in an error on an infinity",
    ]


async def test_the_rows_that_differ_are_shown(database: Path) -> None:
    finding = await graded(database, "SELECT id, name FROM boats", "SELECT id, 'x' FROM boats")

    assert finding.detail["missing_rows"] == [[1, "Ida"], [2, "Karl"], [3, "Nora"]]
    assert finding.detail["unexpected_rows"] == [[1, "x"], [2, "x"], [3, "x"]]
    json.dumps(finding.detail, allow_nan=False)
