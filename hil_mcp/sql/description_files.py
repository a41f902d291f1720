"""Reads the released description CSVs as they come: BOM, cp1252, padded names, absent columns.

A file that cannot be read as CSV counts as absent: the database's own schema stands in for it.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TABLES_FILE = "table_descriptions.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDescription:
    """One column, as its table's CSV describes it."""

    name: str
    description: str = ""
    data_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionFiles:
    """What the description files say.

    Attributes:
        tables: Description of each table, by its name as written; None without the file.
        columns: Columns of each table, in order, by the lower-cased name of its file.
    """

    tables: dict[str, str] | None
    columns: dict[str, tuple[ColumnDescription, ...]]


def read_description_files(files: Mapping[str, Path]) -> DescriptionFiles:
    """Read all description files of one task.

    Args:
        files: Path of each file by its name, such as `account.csv`. No other file is opened,
            whatever a table is called.
    """
    tables: dict[str, str] | None = None
    columns: dict[str, tuple[ColumnDescription, ...]] = {}
    for name, path in files.items():
        file_name = name.strip().lower()
        rows = _rows(path)
        if not rows:
            continue
        if file_name == TABLES_FILE:
            tables = {
                row["table_name"]: row.get("table_description", "")
                for row in rows
                if row.get("table_name")
            }
        else:
            columns[file_name.removesuffix(".csv").strip()] = tuple(
                ColumnDescription(
                    name=row["original_column_name"],
                    description=row.get("combined_description", ""),
                    data_type=row.get("data_format", ""),
                )
                for row in rows
                if row.get("original_column_name")
            )
    return DescriptionFiles(tables=tables, columns={k: v for k, v in columns.items() if v})


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        data = path.read_bytes()
    except OSError:
        return []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""))
    except (csv.Error, ValueError):  # ValueError: there is no header
        return []
    names = [name.strip().lower() for name in header]
    return [{n: value.strip() for n, value in zip(names, row, strict=False)} for row in rows]
