"""Make the databases of the starter pack: `python -m scripts.make_starter_databases [TASK…]`.

The same seed gives the same content on every supported Python; the file's bytes may differ with
the SQLite release, so a test compares `content_digest` and not the files.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.starter_databases import (
    charging,
    concerts,
    greenhouses,
    library,
    lockers,
    vets,
)
from scripts.starter_databases.draw import Draw

if TYPE_CHECKING:
    from collections.abc import Callable

STARTER = Path(__file__).resolve().parents[1] / "task_store" / "starter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the database of one task is made."""

    file_name: str
    schema: str
    fill: Callable[[sqlite3.Connection, Draw], None]
    seed: int


RECIPES: dict[str, Recipe] = {  # by task id
    "lockers_late": Recipe(
        file_name="lockers.sqlite", schema=lockers.SCHEMA, fill=lockers.fill, seed=4104
    ),
    "vet_boosters": Recipe(file_name="vets.sqlite", schema=vets.SCHEMA, fill=vets.fill, seed=4202),
    "concert_no_shows": Recipe(
        file_name="concerts.sqlite", schema=concerts.SCHEMA, fill=concerts.fill, seed=4301
    ),
    "greenhouse_cold_nights": Recipe(
        file_name="greenhouses.sqlite", schema=greenhouses.SCHEMA, fill=greenhouses.fill, seed=4401
    ),
    "library_overdue": Recipe(
        file_name="library.sqlite", schema=library.SCHEMA, fill=library.fill, seed=4501
    ),
    "charging_idle": Recipe(
        file_name="charging.sqlite", schema=charging.SCHEMA, fill=charging.fill, seed=4601
    ),
}


def make_database(recipe: Recipe, path: Path) -> None:
    """Write the database of `recipe` to `path`, in place of any file there."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(recipe.schema)
        recipe.fill(connection, Draw(recipe.seed))
        connection.commit()
        connection.execute("VACUUM")


def content_digest(path: Path) -> str:
    """SHA-256 over the schema and every row of the database, as 64 hex digits."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(path)) as connection:
        entries = connection.execute(
            "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
        ).fetchall()
        for kind, name, sql in entries:
            digest.update(f"{sql}\n".encode())
            if kind == "table":
                for row in connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid'):
                    digest.update(f"{row!r}\n".encode())
    return digest.hexdigest()


def main(task_ids: list[str]) -> None:
    for task_id in task_ids or RECIPES:
        recipe = RECIPES[task_id]
        path = STARTER / task_id / recipe.file_name
        make_database(recipe, path)
        print(f"{path}: {path.stat().st_size} bytes, content {content_digest(path)}")


if __name__ == "__main__":
    main(sys.argv[1:])
