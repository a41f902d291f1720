"""The `instances.json` that the released runner writes into its workspace.

Its items repeat a task for each model, mode and pass; all of them are the same task here. Paths in
it are absolute and of the machine that wrote it, so they are also looked for below the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from task_store.errors import InvalidTaskError
from task_store.fields import Fields, kind_of, read_json, read_json_object
from task_store.records import (
    Artefact,
    ArtefactRole,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
)
from task_store.registry_parser import ParsedRegistry, parse_registry
from task_store.sources.candidate import Candidate, ImportedTask
from task_store.sources.harbor import repository_gold
from task_store.sources.released_values import canonical_id, language_of, text_list

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "instances"
FILE_NAME = "instances.json"


def find_instances(path: Path) -> Iterator[Candidate]:
    """One candidate for each item of the file.

    Raises:
        InvalidTaskError: The file is not a JSON list.
    """
    items = read_json(path)
    if not isinstance(items, list):
        raise InvalidTaskError(str(path), "", f"is {kind_of(items)}, a list is expected")
    for number, item in enumerate(cast("list[object]", items)):
        yield _candidate(path, number, item)


def read_instance(item: Fields, folder: Path) -> ImportedTask:
    """Read one item.

    Args:
        item: As parsed.
        folder: Where the file lies.

    Raises:
        InvalidTaskError: Names the file, the field and the reason.
    """
    if item.has("env"):
        return _read_sql(item.table("env"), item.table("problem_statement"), folder)
    return _read_repository(item, folder)


def _candidate(path: Path, number: int, item: object) -> Candidate:
    def load() -> ImportedTask:
        # As the value of a key, so that errors name the item by its index.
        at = f"[{number}]"
        if not isinstance(item, dict):
            raise InvalidTaskError(str(path), at, f"is {kind_of(item)}, an object is expected")
        fields = Fields(cast("dict[str, object]", item), place=str(path), at=at)
        return read_instance(fields, path.parent)

    return Candidate(place=f"{path}:[{number}]", load=load)


def _read_sql(env: Fields, problem: Fields, folder: Path) -> ImportedTask:
    if (found := env.text("database_type")) != "sqlite":
        env.fail("database_type", f"{found!r} is not sqlite")
    if env.raw("diff_queries"):
        env.fail("diff_queries", "is not empty: tasks that change the database are not supported")
    files: dict[str, Path | bytes] = {}
    parsed = _registry(problem, folder)
    database = _artefact(env, "base_db_path", "database", folder, files)
    task = Task(
        task_id=canonical_id(problem, "id"),
        statement=problem.text("question"),
        registry=parsed.registry,
        environment=SqlEnvironment(
            database_name=env.text("database_name"),
            database=database,
            descriptions=_descriptions(problem, folder, files),
            business_info=text_list(problem, "business_info", single=True),
        ),
        gold=SqlGold(query=problem.optional_text("ground_truth_query")),
        source=SOURCE,
        warnings=parsed.warnings,
    )
    return ImportedTask(task=task, files=files)


def _descriptions(
    problem: Fields, folder: Path, files: dict[str, Path | bytes]
) -> tuple[Artefact, ...]:
    """The description of the tables, and the CSVs beside it."""
    tables = _local(problem.text("table_descriptions_path"), folder)
    if tables is None:
        return (_artefact(problem, "table_descriptions_path", "description", folder, files),)
    found = sorted(tables.parent.glob("*.csv"))
    files.update({file.name: file for file in found})
    return tuple(Artefact(role="description", name=file.name) for file in found)


def _read_repository(item: Fields, folder: Path) -> ImportedTask:
    extra = item.table("extra_fields")
    files: dict[str, Path | bytes] = {}
    parsed = _registry(extra, folder)
    warnings = list(parsed.warnings)
    registry_file = _local(extra.text("blocker_registry_path"), folder) or folder
    gold = _repository_gold(registry_file.parent, extra, warnings)
    image_name = item.text("image_name")
    archives = sorted(registry_file.parent.glob("*.tar.zst"))
    archive_name = archives[0].name if archives else f"{image_name.rpartition(':')[2]}.tar.zst"
    if archives:
        files[archive_name] = archives[0]
    task = Task(
        task_id=canonical_id(item, "instance_id"),
        statement=item.text("problem_statement"),
        registry=parsed.registry,
        environment=RepositoryEnvironment(
            repository=extra.optional_text("repo_or_db_name") or item.text("repo_name"),
            language=language_of(gold.fail_to_pass),
            base_commit=item.optional_text("base_commit") or "HEAD",
            image=Artefact(role="image", name=archive_name, image=image_name),
        ),
        gold=gold,
        source=SOURCE,
        aliases=(extra.text("uid"),) if extra.has("uid") else (),
        warnings=tuple(warnings),
    )
    return ImportedTask(task=task, files=files)


def _repository_gold(folder: Path, extra: Fields, warnings: list[str]) -> RepositoryGold:
    """The hidden tests, from the `metadata.json` that the runner lays beside the registry."""
    file = folder / "metadata.json"
    metadata = read_json_object(file) if file.is_file() else Fields({}, place=str(file))
    return repository_gold(metadata, extra.optional_text("ground_truth_patch"), warnings)


def _registry(fields: Fields, folder: Path) -> ParsedRegistry:
    path = _local(fields.text("blocker_registry_path"), folder)
    if path is None:
        fields.fail("blocker_registry_path", "is neither there nor below the folder of this file")
    return parse_registry(read_json(path), place=str(path))


def _artefact(
    fields: Fields, key: str, role: ArtefactRole, folder: Path, files: dict[str, Path | bytes]
) -> Artefact:
    written = Path(fields.text(key))
    local = _local(str(written), folder)
    if local is not None:
        files[written.name] = local
    return Artefact(role=role, name=written.name, source=None if local else str(written))


def _local(written: str, folder: Path) -> Path | None:
    """The file at a path as written, else at the longest end of that path below `folder`."""
    path = Path(written)
    if path.is_absolute() and path.is_file():
        return path
    parts = path.parts[1:] if path.is_absolute() else path.parts
    ends = (folder.joinpath(*parts[start:]) for start in range(len(parts)))
    return next((end for end in ends if end.is_file()), None)
