"""`get_business_info` over MCP: the task's own rules, the nearest first."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from hil_mcp.sql.rule_index import RuleIndex
from hil_mcp.tools.get_business_info import get_business_info
from tests.support.encoders import WordEncoder
from tests.support.sql_tasks import reply_to, served

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from mcp.client.client import Client

RULES = [
    " A boat is fast above ten knots.\n",
    "A trip counts when it took a day.",
    "A crew has at least two members.",
    "Harbour fees are due on Monday.",
    "A mast is made of wood.",
    "A sail is white.",
    "An anchor is heavy.",
]


def make_index(
    folder: Path, encoder: WordEncoder, rules: Sequence[str] = RULES, *, digest: str = "words/1"
) -> RuleIndex:
    return RuleIndex(rules, encoder, encoder_digest=digest, cache_dir=folder / "rules")


@asynccontextmanager
async def searching(
    folder: Path, encoder: WordEncoder, rules: Sequence[str] = RULES
) -> AsyncGenerator[Client]:
    tool = get_business_info("harbour", make_index(folder, encoder, rules))
    async with served(folder, [tool]) as client:
        yield client


async def search(client: Client, text: str, database: str = "harbour") -> str:
    return await reply_to(client, "get_business_info", database_name=database, search_string=text)


async def test_the_five_nearest_rules_are_numbered(tmp_path: Path) -> None:
    async with searching(tmp_path, WordEncoder()) as client:
        lines = (await search(client, "is a boat fast")).split("\n")

    assert lines[0] == "1. A boat is fast above ten knots."
    assert [line[:3] for line in lines] == ["1. ", "2. ", "3. ", "4. ", "5. "]


async def test_a_task_with_fewer_rules_gives_them_all(tmp_path: Path) -> None:
    async with searching(tmp_path, WordEncoder(), RULES[:2]) as client:
        assert (await search(client, "trip")).count("\n") == 1


@pytest.mark.parametrize("database", ["marina", "Harbour", "harbour "])
async def test_nothing_is_found_under_another_name(tmp_path: Path, database: str) -> None:
    async with searching(tmp_path, WordEncoder()) as client:
        reply = await search(client, "late", database)

    assert reply == "No business information found matching 'late'."


async def test_a_task_without_rules_finds_nothing(tmp_path: Path) -> None:
    encoder = WordEncoder()

    async with searching(tmp_path, encoder, []) as client:
        reply = await search(client, "late")

    assert reply == "No business information found matching 'late'."
    assert encoder.batches == []


@pytest.mark.parametrize(
    ("database", "text", "missing"),
    [("", "late", "database_name"), ("harbour", "", "search_string"), ("", "", "database_name")],
)
async def test_an_empty_argument_gets_the_released_text(
    tmp_path: Path, database: str, text: str, missing: str
) -> None:
    async with searching(tmp_path, WordEncoder()) as client:
        reply = await search(client, text, database)

    assert reply == f"Error querying knowledge base: Missing {missing}"


async def test_rules_are_embedded_once_whatever_the_number_of_searches(tmp_path: Path) -> None:
    first, second = WordEncoder(), WordEncoder()

    await make_index(tmp_path, first).search("boat")
    again = make_index(tmp_path, second)
    found = [await again.search("boat"), await again.search("trip")]

    assert first.batches == [RULES, ["boat"]]
    assert second.batches == [["boat"], ["trip"]]
    assert found[1][0] == RULES[1]


@pytest.mark.parametrize("change", ["rules", "encoder"])
async def test_other_rules_or_another_encoder_are_embedded_anew(
    tmp_path: Path, change: str
) -> None:
    await make_index(tmp_path, WordEncoder()).search("boat")
    encoder = WordEncoder()
    rules = RULES[::-1] if change == "rules" else RULES
    digest = "words/2" if change == "encoder" else "words/1"

    await make_index(tmp_path, encoder, rules, digest=digest).search("boat")

    assert encoder.batches[0] == rules


@pytest.mark.parametrize("content", [b"", b"not an array", b"\x93NUMPY\x01\x00"])
async def test_damaged_vectors_are_made_anew(tmp_path: Path, content: bytes) -> None:
    await make_index(tmp_path, WordEncoder()).search("boat")
    (kept,) = (tmp_path / "rules").iterdir()
    kept.write_bytes(content)
    encoder = WordEncoder()

    found = await make_index(tmp_path, encoder).search("is a boat fast")

    assert encoder.batches[0] == RULES
    assert found[0] == RULES[0]


async def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("a file where the folder should be")

    found = await make_index(tmp_path, WordEncoder()).search("is a boat fast")

    assert found[0] == RULES[0]


async def test_an_early_search_waits_for_the_encoder(tmp_path: Path) -> None:
    encoder = WordEncoder()
    encoder.is_free.clear()
    index = make_index(tmp_path, encoder)
    replies: list[str] = []

    with anyio.fail_after(10):
        async with (
            served(tmp_path, [get_business_info("harbour", index)]) as client,
            anyio.create_task_group() as tasks,
        ):

            async def call() -> None:
                replies.append(await search(client, "is a boat fast"))

            tasks.start_soon(index.warm_up)
            tasks.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            assert replies == []
            encoder.is_free.set()

    assert replies[0].startswith("1. A boat is fast")
    assert encoder.batches.count(RULES) == 1


async def test_warming_up_leaves_nothing_for_the_search_but_its_own_text(tmp_path: Path) -> None:
    encoder = WordEncoder()
    index = make_index(tmp_path, encoder)

    await index.warm_up()
    n_before = len(encoder.batches)
    await index.search("boat")

    assert encoder.batches[n_before:] == [["boat"]]
