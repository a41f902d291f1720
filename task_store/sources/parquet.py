"""Rows of a parquet file, through pyarrow (the extra `parquet`)."""

# pyarrow ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from task_store.errors import InvalidTaskError, MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path


def read_parquet(file: Path) -> list[dict[str, object]]:
    """All rows, column -> value.

    Raises:
        InvalidTaskError: The file cannot be read as parquet.
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError as exc:
        raise MissingExtraError(str(file), extra="parquet") from exc
    try:
        rows = pyarrow.parquet.read_table(file).to_pylist()
    except (pyarrow.ArrowException, OSError) as exc:
        # The first line alone: pyarrow's messages go on with advice about its own options.
        reason = str(exc).partition("\n")[0]
        raise InvalidTaskError(str(file), "", f"is not a parquet file: {reason}") from exc
    return cast("list[dict[str, object]]", rows)
