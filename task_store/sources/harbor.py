"""A Harbor checkout of the benchmark: one folder a task with `shared/` and a folder for each mode.

Of the released files it reads what a task is made of and leaves what runs it: the Dockerfiles, the
sidecars and `artifacts_manifest.json`, which is stale (docs/release.md, section 1a).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from task_store.addresses import file_name_of
from task_store.errors import InvalidTaskError
from task_store.fields import Fields, read_json, read_json_object, read_text
from task_store.natural_order import natural_key
from task_store.records import (
    Artefact,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
)
from task_store.registry_parser import ParsedRegistry, parse_registry
from task_store.sources.candidate import Candidate, ImportedTask, task_id_of
from task_store.sources.released_values import test_patch_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = "harbor"
MODES = ("baseline", "ask_human", "full_info")

_QUESTION = re.compile(
    r"\nAnswer the following question:\n(?P<question>.*?)\n\n# Available Commands\n", re.DOTALL
)


def find_harbor_tasks(path: Path) -> Iterator[Candidate]:
    """The task at `path`, or the tasks one or two folders below it, in natural order."""
    found = {path} if _is_task(path) else {p.parent for p in _shared_dirs(path)}
    for folder in sorted(found, key=lambda folder: natural_key(str(folder))):
        yield _candidate(folder)


def is_harbor(path: Path) -> bool:
    """Whether `path` is a task folder of the released form, or holds some."""
    return _is_task(path) or any(True for _ in _shared_dirs(path))


def read_harbor_task(folder: Path) -> ImportedTask:
    """Read one task folder.

    Raises:
        InvalidTaskError: Names the file, the field and the reason.
    """
    metadata = read_json_object(folder / "shared" / "metadata.json")
    registry_file = folder / "shared" / "ask-human-data" / "blocker_registry.json"
    parsed = parse_registry(read_json(registry_file), place=str(registry_file))
    if metadata.has("instance_id"):
        return _read_repository_task(folder, metadata, parsed)
    return _read_sql_task(folder, metadata, parsed)


def repository_gold(metadata: Fields, patch: str | None, warnings: list[str]) -> RepositoryGold:
    """The hidden tests that a repository task's `metadata.json` names.

    Args:
        metadata: That file.
        patch: The hidden answer, where the source has one.
        warnings: Takes what had to be mended.
    """
    tests = metadata.optional_table("swe_bench_metadata")
    return RepositoryGold(
        patch=patch,
        test_patch=test_patch_of(metadata, warnings),
        fail_to_pass=tests.texts("FAIL_TO_PASS") if tests else (),
        pass_to_pass=tests.texts("PASS_TO_PASS") if tests else (),
        test_files=metadata.texts("test_files"),
        run_script_path=metadata.optional_text("run_script_path"),
        parser_script_path=metadata.optional_text("parser_script_path"),
    )


def _is_task(path: Path) -> bool:
    shared = path / "shared"
    return (shared / "metadata.json").exists() or (shared.is_dir() and (path / "baseline").is_dir())


def _shared_dirs(path: Path) -> Iterator[Path]:
    for pattern in ("*/shared", "*/*/shared"):
        yield from (found for found in path.glob(pattern) if _is_task(found.parent))


def _candidate(folder: Path) -> Candidate:
    return Candidate(place=str(folder), load=lambda: read_harbor_task(folder))


def _read_sql_task(folder: Path, metadata: Fields, parsed: ParsedRegistry) -> ImportedTask:
    shared = folder / "shared"
    instructions = _instructions(folder)
    rules = read_json_object(shared / "data" / "business_info.json")
    files: dict[str, Path | bytes] = {}
    warnings = list(parsed.warnings)
    _compare_count(metadata.integer("num_blockers"), parsed, warnings)
    environment = _sql_environment(shared, metadata, rules, files)
    task = Task(
        task_id=task_id_of(metadata, "dataset_name"),
        statement=_question(folder / "baseline" / "instruction.md"),
        registry=parsed.registry,
        environment=environment,
        gold=SqlGold(
            query=_text_if_there(shared / "ground_truth.sql"),
            result_csv=_text_if_there(shared / "golden_output.csv"),
        ),
        source=SOURCE,
        aliases=_aliases(metadata, "hf_task_id", "task_attempt_id", "attempt_id"),
        released_instructions=instructions,
        warnings=tuple(warnings),
    )
    return ImportedTask(task=task, files=files)


def _sql_environment(
    shared: Path, metadata: Fields, rules: Fields, files: dict[str, Path | bytes]
) -> SqlEnvironment:
    database_name = metadata.text("database_name")
    if rules.text("database_name") != database_name:
        rules.fail("database_name", f"is not {database_name!r}, which metadata.json names")
    archive = read_json_object(shared / "data_archive.json")
    bucket = archive.text("hf_bucket")
    database = Artefact(
        role="database",
        name=file_name_of(archive.text("db_artifact_path")),
        source=_bucket_address(bucket, archive.text("db_artifact_path")),
    )
    descriptions = tuple(
        Artefact(role="description", name=file_name_of(path), source=_bucket_address(bucket, path))
        for path in archive.texts("desc_artifact_paths")
    )
    for artefact, local in (
        (database, shared / "data" / "database.sqlite"),
        *((a, shared / "data" / "database_description" / a.name) for a in descriptions),
    ):
        if local.is_file():
            files[artefact.name] = local
    return SqlEnvironment(
        database_name=database_name,
        database=database,
        descriptions=descriptions,
        business_info=rules.texts("business_info"),
    )


def _read_repository_task(folder: Path, metadata: Fields, parsed: ParsedRegistry) -> ImportedTask:
    shared = folder / "shared"
    warnings = list(parsed.warnings)
    stats = metadata.optional_table("blocker_stats")
    # Its other counts are 0 in the whole release (docs/release.md, section 1a).
    _compare_count(stats.integer("total") if stats else None, parsed, warnings)
    patch = _text_if_there(folder / "baseline" / "solution" / "ground_truth.patch")
    task = Task(
        task_id=task_id_of(metadata, "dataset_name"),
        statement=read_text(shared / "problem_statement.txt"),
        registry=parsed.registry,
        environment=RepositoryEnvironment(
            repository=metadata.text("repo_name_source"),
            language=metadata.text("language"),
            base_commit=metadata.text("base_commit"),
            working_dir=f"/{metadata.text('repo_name')}",
            image=_image(read_json_object(shared / "image_archive.json"), metadata),
        ),
        gold=repository_gold(metadata, patch, warnings),
        source=SOURCE,
        aliases=_aliases(metadata, "instance_id", "attempt_id"),
        released_instructions=_instructions(folder),
        warnings=tuple(warnings),
    )
    return ImportedTask(task=task)


def _image(archive: Fields, metadata: Fields) -> Artefact:
    path = archive.text("artifact_path")
    return Artefact(
        role="image",
        name=file_name_of(path),
        source=_bucket_address(archive.text("hf_bucket"), path),
        sha256=archive.optional_text("artifact_sha256"),
        size_bytes=archive.integer("artifact_bytes"),
        image=metadata.text("image_name"),
    )


def _question(instruction_file: Path) -> str:
    found = _QUESTION.search(read_text(instruction_file))
    if found is None or not found["question"].strip():
        raise InvalidTaskError(
            str(instruction_file), "", 'has no question after "Answer the following question:"'
        )
    return found["question"]


def _instructions(folder: Path) -> dict[str, str]:
    texts = {mode: _text_if_there(folder / mode / "instruction.md") for mode in MODES}
    return {mode: text for mode, text in texts.items() if text is not None}


def _text_if_there(file: Path) -> str | None:
    return read_text(file) if file.exists() else None


def _aliases(metadata: Fields, *keys: str) -> tuple[str, ...]:
    return tuple(metadata.text(key) for key in keys if metadata.has(key))


def _compare_count(said: int | None, parsed: ParsedRegistry, warnings: list[str]) -> None:
    found = len(parsed.registry)
    if said is not None and said != found:
        warnings.append(f"metadata.json counts {said} blockers and the registry holds {found}")


def _bucket_address(bucket: str, path: str) -> str:
    return f"hf://buckets/{bucket}/{path}"
