"""Our own folder format: one `task.toml` a task (docs/task-format.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from task_store.addresses import scheme_of
from task_store.errors import InvalidTaskError
from task_store.fields import Fields, read_text, read_toml
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
from task_store.sources.candidate import Candidate, ImportedTask, task_id_of
from task_store.tree import overlay_patch, tree_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_T = TypeVar("_T")

FORMAT = "hil-mcp/task/1"
TASK_FILE = "task.toml"
TREE_NAME = "repository.tar"

_BLOCKER_KEYS = ("id", "type", "subtype", "description", "resolution", "example_questions")
_ROLES: dict[str, ArtefactRole] = {
    "database": "database",
    "description": "description",
    "image": "image",
    "repository": "repository",
}


def find_task_folders(path: Path) -> Iterator[Candidate]:
    """The task folder at `path`, else every one below it, in order of their names."""
    own = path / TASK_FILE
    found = [own] if own.is_file() else sorted(path.rglob(TASK_FILE))
    for file in found:
        yield _candidate(file.parent)


def _candidate(folder: Path) -> Candidate:
    return Candidate(place=str(folder / TASK_FILE), load=lambda: read_task_folder(folder))


def read_task_folder(folder: Path, *, source: str = "folder") -> ImportedTask:
    """Read one task folder.

    Args:
        folder: Holds `task.toml`.
        source: What the task's `source` says.

    Raises:
        InvalidTaskError: Names the file, the field and the reason.
    """
    top = read_toml(folder / TASK_FILE)
    if (found := top.text("format")) != FORMAT:
        top.fail("format", f"{found!r} is not a format that is known here, {FORMAT!r} is")
    task_id = task_id_of(top, "id")
    kind = _choice(top, "kind", {str(kind): kind for kind in TaskKind})
    files: dict[str, Path | bytes] = {}
    elsewhere = tuple(_fetched_artefact(fields, folder) for fields in top.tables("fetch"))
    environment: SqlEnvironment | RepositoryEnvironment
    gold: SqlGold | RepositoryGold
    if kind is TaskKind.SQL:
        environment = _sql_environment(top.table("sql"), folder, elsewhere, files)
        gold = _sql_gold(top.optional_table("gold"), folder)
    else:
        fields = top.table("repository")
        tree = _optional_dir(fields, "tree", folder)
        environment = _repository_environment(fields, tree, elsewhere, files)
        gold = _repository_gold(top.optional_table("gold"), folder, tree)
    blockers = _strict_blockers(top)
    parsed = parse_registry(blockers, place=top.place)
    task = Task(
        task_id=task_id,
        statement=_statement(top, folder),
        registry=parsed.registry,
        environment=environment,
        gold=gold,
        source=source,
        aliases=top.texts("aliases"),
        released_instructions=_instructions(top, folder),
        warnings=parsed.warnings,
    )
    top.refuse_unknown()
    return ImportedTask(task=task, files=files)


def _strict_blockers(top: Fields) -> object:
    for blocker in top.tables("blockers"):
        for key in _BLOCKER_KEYS:
            blocker.raw(key)
        blocker.refuse_unknown()
    return top.raw("blockers") or []


def _statement(top: Fields, folder: Path) -> str:
    file = _optional_file(top, "statement_file", folder)
    if file is None:
        return top.text("statement")
    if top.has("statement"):
        top.fail("statement_file", "stands beside a statement: one of the two is enough")
    # Editors end a file with a line end; it is not part of the statement.
    text = read_text(file).removesuffix("\n")
    if not text.strip():
        raise InvalidTaskError(str(file), "", "is empty")
    return text


def _instructions(top: Fields, folder: Path) -> dict[str, str]:
    directory = _optional_dir(top, "instructions", folder)
    if directory is None:
        return {}
    return {file.stem: read_text(file) for file in sorted(directory.glob("*.md"))}


def _sql_environment(
    fields: Fields, folder: Path, elsewhere: tuple[Artefact, ...], files: dict[str, Path | bytes]
) -> SqlEnvironment:
    local: list[Artefact] = []
    database = _optional_file(fields, "database", folder)
    if database is not None:
        local.append(_local(database, "database", files))
    descriptions = _optional_dir(fields, "descriptions", folder)
    if descriptions is not None:
        local += (_local(f, "description", files) for f in sorted(descriptions.glob("*.csv")))
    artefacts = (*local, *(a for a in elsewhere if a.name not in files))
    databases = [a for a in artefacts if a.role == "database"]
    if len(databases) != 1:
        fields.fail("database", f"{len(databases)} databases are named, one is expected")
    environment = SqlEnvironment(
        database_name=fields.text("database_name"),
        database=databases[0],
        descriptions=tuple(
            sorted((a for a in artefacts if a.role == "description"), key=lambda a: a.name)
        ),
        business_info=_business_info(fields, folder),
    )
    fields.refuse_unknown()
    return environment


def _business_info(fields: Fields, folder: Path) -> tuple[str, ...]:
    if isinstance(fields.raw("business_info"), list):
        return fields.texts("business_info")
    file = _optional_file(fields, "business_info", folder)
    lines = [] if file is None else read_text(file).split("\n")
    return tuple(line.strip() for line in lines if line.strip())


def _repository_environment(
    fields: Fields,
    tree: Path | None,
    elsewhere: tuple[Artefact, ...],
    files: dict[str, Path | bytes],
) -> RepositoryEnvironment:
    by_role = {artefact.role: artefact for artefact in elsewhere}
    packed = by_role.get("repository")
    if tree is not None:
        packed = Artefact(role="repository", name=TREE_NAME)
        files[TREE_NAME] = tree
    if packed is None and "image" not in by_role:
        fields.fail("tree", "is missing, and no image is named under [[fetch]]")
    environment = RepositoryEnvironment(
        repository=fields.text("name"),
        language=fields.text("language"),
        base_commit=fields.optional_text("base_commit") or "HEAD",
        working_dir=fields.optional_text("working_dir") or "/app",
        image=by_role.get("image"),
        tree=packed,
        visible_test_command=fields.texts("visible_tests"),
    )
    fields.refuse_unknown()
    return environment


def _sql_gold(fields: Fields | None, folder: Path) -> SqlGold:
    if fields is None:
        return SqlGold(query=None)
    gold = SqlGold(
        query=_optional_content(fields, "query", folder),
        result_csv=_optional_content(fields, "result_csv", folder),
    )
    fields.refuse_unknown()
    return gold


def _repository_gold(fields: Fields | None, folder: Path, tree: Path | None) -> RepositoryGold:
    if fields is None:
        return RepositoryGold(patch=None)
    overlay = _optional_dir(fields, "hidden_tests", folder)
    test_patch = _optional_content(fields, "test_patch", folder) or ""
    test_files = fields.texts("test_files")
    if overlay is not None:
        if test_patch:
            fields.fail("hidden_tests", "stands beside a test_patch: one of the two is enough")
        test_patch = overlay_patch(overlay, over=tree)
        test_files = test_files or tuple(tree_files(overlay))
    gold = RepositoryGold(
        patch=_optional_content(fields, "patch", folder),
        test_patch=test_patch,
        fail_to_pass=fields.texts("fail_to_pass"),
        pass_to_pass=fields.texts("pass_to_pass"),
        test_files=test_files,
        test_command=fields.texts("test_command"),
        run_script_path=fields.optional_text("run_script_path"),
        parser_script_path=fields.optional_text("parser_script_path"),
    )
    fields.refuse_unknown()
    return gold


def _local(file: Path, role: ArtefactRole, files: dict[str, Path | bytes]) -> Artefact:
    files[file.name] = file
    return Artefact(role=role, name=file.name)


def _fetched_artefact(fields: Fields, folder: Path) -> Artefact:
    source = fields.optional_text("source")
    if source is not None and not scheme_of(source):
        source = str((folder / source).absolute())
    artefact = Artefact(
        role=_choice(fields, "role", _ROLES),
        name=fields.text("name"),
        source=source,
        sha256=fields.optional_text("sha256"),
        size_bytes=fields.integer("size_bytes"),
        image=fields.optional_text("image"),
    )
    fields.refuse_unknown()
    return artefact


def _choice(fields: Fields, key: str, choices: dict[str, _T]) -> _T:
    text = fields.text(key)
    if text not in choices:
        fields.fail(key, f"{text!r} is none of {', '.join(choices)}")
    return choices[text]


def _optional_content(fields: Fields, key: str, folder: Path) -> str | None:
    path = _optional_file(fields, key, folder)
    return None if path is None else read_text(path)


def _optional_dir(fields: Fields, key: str, folder: Path) -> Path | None:
    """The folder that `key` names inside the task's, or None when it names none."""
    path = _inside(fields, key, folder)
    if path is not None and not path.is_dir():
        fields.fail(key, f"{path.name!r} is not a folder in the task's folder")
    return path


def _optional_file(fields: Fields, key: str, folder: Path) -> Path | None:
    """The file that `key` names inside the task's folder, or None when it names none."""
    path = _inside(fields, key, folder)
    if path is not None and not path.is_file():
        fields.fail(key, f"{path.name!r} is not a file in the task's folder")
    return path


def _inside(fields: Fields, key: str, folder: Path) -> Path | None:
    text = fields.optional_text(key)
    if text is None:
        return None
    path = folder / text
    if not text or not path.resolve().is_relative_to(folder.resolve()):
        fields.fail(key, f"{text!r} does not stay inside the task's folder")
    return path
