"""The databases of the starter pack: made again from their seed, and described in full."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scripts.make_starter_databases import RECIPES, content_digest, make_database
from task_store.records import SqlEnvironment
from tests.task_store.starter.sealed import SQL_IDS, TASKS, database_path


def tables_of(database: Path) -> dict[str, list[str]]:
    """Table -> its columns in order."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
            for (name,) in names
        }


def descriptions_of(task_id: str) -> dict[str, list[dict[str, str]]]:
    """File stem -> rows of the description file."""
    environment = TASKS[task_id].environment
    assert isinstance(environment, SqlEnvironment)
    found: dict[str, list[dict[str, str]]] = {}
    for artefact in environment.descriptions:
        assert artefact.source is not None
        file = Path(artefact.source)
        with file.open(encoding="utf-8", newline="") as lines:
            found[file.stem] = list(csv.DictReader(lines))
    return found


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_the_script_makes_the_same_database_again(task_id: str, tmp_path: Path) -> None:
    made = tmp_path / "made.sqlite"

    make_database(RECIPES[task_id], made)

    assert content_digest(made) == content_digest(database_path(task_id))


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_a_database_is_real_but_small(task_id: str) -> None:
    database = database_path(task_id)
    tables = tables_of(database)
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        counts = [
            connection.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for name in tables
        ]
        journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
        free_pages = connection.execute("PRAGMA freelist_count").fetchone()[0]
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()

    assert len(tables) >= 5
    assert min(counts) > 0
    assert sum(counts) >= 3000
    assert broken == []
    assert (journal, free_pages) == ("delete", 0)
    assert database.stat().st_size <= 400 * 1024


@pytest.mark.parametrize("task_id", SQL_IDS)
def test_every_table_and_column_is_described_and_nothing_else_is(task_id: str) -> None:
    tables = tables_of(database_path(task_id))
    descriptions = descriptions_of(task_id)
    overview = descriptions.pop("table_descriptions")

    assert {row["table_name"] for row in overview} == set(tables) == set(descriptions)
    assert all(row["table_description"].strip() for row in overview)
    for table, columns in tables.items():
        assert [row["original_column_name"] for row in descriptions[table]] == columns
        assert all(row["combined_description"].strip() for row in descriptions[table])
        assert {row["data_format"] for row in descriptions[table]} <= {
            "integer", "real", "text", "date", "datetime",
        }  # fmt: skip
