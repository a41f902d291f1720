"""Rows of the data set on Hugging Face, from JSON Lines or parquet files.

The columns are those that the released code reads (docs/release.md, section 1b).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from task_store.addresses import file_name_of, scheme_of
from task_store.errors import InvalidTaskError
from task_store.fields import Fields, kind_of
from task_store.records import (
    Artefact,
    ArtefactRole,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
    TaskKind,
)
from task_store.registry_parser import parse_registry
from task_store.sources.candidate import Candidate, ImportedTask
from task_store.sources.parquet import read_parquet
from task_store.sources.released_values import (
    canonical_id,
    language_of,
    test_patch_of,
    text_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = "huggingface"
ROW_SUFFIXES = (".jsonl", ".parquet")

_KINDS = {"sql": TaskKind.SQL, "swe": TaskKind.REPOSITORY}


def find_rows(path: Path) -> Iterator[Candidate]:
    """One candidate for each row of a file, or of every file of rows below a folder.

    Raises:
        InvalidTaskError: The file cannot be read at all.
        MissingExtraError: A parquet file, and pyarrow is not installed.
    """
    for file in [path] if path.is_file() else row_files(path):
        yield from _parquet_rows(file) if file.suffix == ".parquet" else _json_rows(file)


def row_files(folder: Path) -> list[Path]:
    """The files of rows below a folder, in order of their paths."""
    return sorted(file for file in folder.rglob("*") if file.suffix in ROW_SUFFIXES)


def read_row(row: Fields, folder: Path) -> ImportedTask:
    """Read one row.

    Args:
        row: Column -> value.
        folder: Local paths among the links are relative to it.

    Raises:
        InvalidTaskError: Names the file and row, the column and the reason.
    """
    kind_text = row.text("task_type")
    kind = _KINDS.get(kind_text.lower())
    if kind is None:
        row.fail("task_type", f"{kind_text!r} is neither sql nor swe")
    parsed = parse_registry(
        row.raw("blocker_registry"), place=row.place, at=row.path_of("blocker_registry")
    )
    files: dict[str, Path | bytes] = {}
    warnings = list(parsed.warnings)
    environment: SqlEnvironment | RepositoryEnvironment
    gold: SqlGold | RepositoryGold
    if kind is TaskKind.SQL:
        environment = _sql_environment(row, folder, files)
        gold = SqlGold(query=row.optional_text("ground_truth_answer"))
    else:
        tests = text_list(row, "tests_to_pass", single=False)
        environment = _repository_environment(row, folder, tests, files)
        gold = RepositoryGold(
            patch=row.optional_text("ground_truth_answer"),
            test_patch=test_patch_of(row, warnings),
            fail_to_pass=tests,
            test_files=text_list(row, "test_files", single=True),
            run_script_path="/root/run_script.sh",
            parser_script_path="/root/parser.py",
        )
    task = Task(
        task_id=canonical_id(row, "task_id"),
        statement=row.text("problem"),
        registry=parsed.registry,
        environment=environment,
        gold=gold,
        source=SOURCE,
        aliases=tuple(row.text(key) for key in ("task_id", "uid") if row.has(key)),
        warnings=tuple(warnings),
    )
    return ImportedTask(task=task, files=files)


def _sql_environment(row: Fields, folder: Path, files: dict[str, Path | bytes]) -> SqlEnvironment:
    links = text_list(row, "schema_descriptions_download_links", single=True)
    database = _linked(row.text("repo_or_db_download_link"), "database", folder, files)
    return SqlEnvironment(
        database_name=row.text("repo_or_db_name"),
        database=database,
        descriptions=tuple(_linked(link, "description", folder, files) for link in links),
        business_info=text_list(row, "business_info", single=True),
    )


def _repository_environment(
    row: Fields, folder: Path, tests: tuple[str, ...], files: dict[str, Path | bytes]
) -> RepositoryEnvironment:
    image = _linked(row.text("repo_or_db_download_link"), "image", folder, files)
    return RepositoryEnvironment(
        repository=row.text("repo_or_db_name"),
        language=language_of(tests),
        image=replace(image, image=f"hilbench-swe:{row.text('uid')}"),
    )


def _linked(
    link: str, role: ArtefactRole, folder: Path, files: dict[str, Path | bytes]
) -> Artefact:
    """The artefact behind a link; a local file comes along at once."""
    if scheme_of(link):
        return Artefact(role=role, name=file_name_of(link), source=link)
    local = (folder / link).absolute()
    if local.is_file():
        files[local.name] = local
    return Artefact(role=role, name=local.name, source=str(local))


def _json_rows(file: Path) -> Iterator[Candidate]:
    try:
        # By line ends alone: `splitlines` also breaks at U+2028 inside a string.
        lines = file.read_bytes().split(b"\n")
    except OSError as exc:
        raise InvalidTaskError(str(file), "", f"cannot be read: {exc.strerror}") from exc
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _row_candidate(f"{file}:{number}", file.parent, line)


def _parquet_rows(file: Path) -> Iterator[Candidate]:
    for number, row in enumerate(read_parquet(file), start=1):
        yield _row_candidate(f"{file}:row {number}", file.parent, row)


def _row_candidate(place: str, folder: Path, row: object) -> Candidate:
    def load() -> ImportedTask:
        values = _parse_line(row, place) if isinstance(row, bytes) else row
        if not isinstance(values, dict):
            raise InvalidTaskError(place, "", f"is {kind_of(values)}, an object is expected")
        return read_row(Fields(cast("dict[str, object]", values), place=place), folder)

    return Candidate(place=place, load=load)


def _parse_line(line: bytes, place: str) -> object:
    try:
        return json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise InvalidTaskError(place, "", "is not a line of JSON") from exc
