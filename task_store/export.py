"""Tasks back into our own folders (docs/task-format.md); an import of one gives the same digest."""

from __future__ import annotations

import shutil
import tarfile
from typing import TYPE_CHECKING

from task_store.errors import ExportError, MissingArtefactError
from task_store.records import RepositoryEnvironment, RepositoryGold, SqlEnvironment, SqlGold
from task_store.sources.folder import FORMAT, TASK_FILE, TREE_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from task_store.records import Artefact, Blocker, Gold, Task
    from task_store.store import TaskStore


def export_task(store: TaskStore, task: Task, into: Path) -> Path:
    """Write one task folder, whole or not at all.

    Args:
        store: Has the files; those that it misses are named under `[[fetch]]`.
        task: From that store.
        into: Folder that gets a new folder named by the task's id.

    Returns:
        The new folder.

    Raises:
        ExportError: There is such a folder already, or it cannot be written.
    """
    target = into / task.task_id
    if target.exists():
        raise ExportError(f"{target}: is there already: choose another folder or remove it")
    unfinished = into / f".{task.task_id}.unfinished"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        _TaskWriter(store, task, unfinished).write()
        unfinished.rename(target)
    except OSError as exc:
        raise ExportError(f"{target}: cannot be written: {exc.strerror}") from exc
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return target


class _TaskWriter:
    def __init__(self, store: TaskStore, task: Task, folder: Path) -> None:
        self._store = store
        self._task = task
        self._folder = folder
        self._fetch: list[dict[str, object]] = []

    def write(self) -> None:
        import tomlkit

        task = self._task
        top: dict[str, object] = {"format": FORMAT, "id": task.task_id, "kind": str(task.kind)}
        top |= self._statement()
        if task.aliases:
            top["aliases"] = list(task.aliases)
        if task.released_instructions:
            for mode, text in task.released_instructions.items():
                self._put(f"instructions/{mode}.md", text)
            top["instructions"] = "instructions"
        match task.environment:
            case SqlEnvironment() as sql:
                top["sql"] = self._sql(sql)
            case RepositoryEnvironment() as repository:
                top["repository"] = self._repository(repository)
        if gold := self._gold(task.gold):
            top["gold"] = gold
        if self._fetch:
            top["fetch"] = self._fetch
        if task.registry.blockers:
            top["blockers"] = [_blocker(blocker) for blocker in task.registry.blockers]
        self._put(TASK_FILE, tomlkit.dumps(top))

    def _statement(self) -> dict[str, object]:
        statement = self._task.statement
        if "\n" not in statement:
            return {"statement": statement}
        # The reader takes one line end away again.
        return {"statement_file": self._put("statement.md", statement + "\n")}

    def _sql(self, environment: SqlEnvironment) -> dict[str, object]:
        table: dict[str, object] = {"database_name": environment.database_name}
        if self._copy(environment.database, environment.database.name):
            table["database"] = environment.database.name
        copied = [self._copy(a, f"descriptions/{a.name}") for a in environment.descriptions]
        if any(copied):
            table["descriptions"] = "descriptions"
        rules = environment.business_info
        if any(rule != rule.strip() or "\n" in rule or not rule for rule in rules):
            table["business_info"] = list(rules)
        elif rules:
            lines = "".join(f"{rule}\n" for rule in rules)
            table["business_info"] = self._put("business_info.txt", lines)
        return table

    def _repository(self, environment: RepositoryEnvironment) -> dict[str, object]:
        table: dict[str, object] = {
            "name": environment.repository,
            "language": environment.language,
            "base_commit": environment.base_commit,
            "working_dir": environment.working_dir,
        }
        if environment.visible_test_command:
            table["visible_tests"] = list(environment.visible_test_command)
        if environment.tree is not None and self._unpack(environment.tree):
            table["tree"] = "repository"
        if environment.image is not None:
            # An archive of gigabytes is named, not copied.
            self._fetch.append(_fetch_table(environment.image))
        return table

    def _gold(self, gold: Gold) -> dict[str, object]:
        table: dict[str, object]
        match gold:
            case SqlGold():
                texts = {"query": ("solution.sql", gold.query)}
                texts["result_csv"] = ("golden.csv", gold.result_csv)
                table = {}
            case RepositoryGold():
                texts = {"patch": ("solution.patch", gold.patch)}
                texts["test_patch"] = ("hidden_tests.patch", gold.test_patch or None)
                table = {
                    "fail_to_pass": list(gold.fail_to_pass),
                    "pass_to_pass": list(gold.pass_to_pass),
                    "test_files": list(gold.test_files),
                    "test_command": list(gold.test_command),
                    "run_script_path": gold.run_script_path,
                    "parser_script_path": gold.parser_script_path,
                }
        for key, (name, text) in texts.items():
            if text is not None:
                table[key] = self._put(name, text)
        return {key: value for key, value in table.items() if value not in (None, [])}

    def _copy(self, artefact: Artefact, name: str) -> bool:
        """Copy an artefact's file; without one, name it under `[[fetch]]` and say no."""
        source = self._file(artefact)
        if source is None:
            self._fetch.append(_fetch_table(artefact))
            return False
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, path)
        return True

    def _unpack(self, tree: Artefact) -> bool:
        packed = self._file(tree)
        # A tar from elsewhere may have a form of its own; it is fetched again.
        if packed is None or tree.name != TREE_NAME:
            self._fetch.append(_fetch_table(tree))
            return False
        with tarfile.open(packed) as tar:
            tar.extractall(self._folder / "repository", filter="data")
        return True

    def _file(self, artefact: Artefact) -> Path | None:
        try:
            return self._store.artefact_path(artefact)
        except MissingArtefactError:
            return None

    def _put(self, name: str, text: str) -> str:
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return name


def _blocker(blocker: Blocker) -> dict[str, object]:
    table: dict[str, object] = {
        "id": blocker.blocker_id,
        "type": blocker.type,
        "subtype": blocker.subtype,
        "description": blocker.description,
        "resolution": blocker.resolution,
        "example_questions": list(blocker.example_questions),
    }
    return {key: value for key, value in table.items() if value not in (None, [])}


def _fetch_table(artefact: Artefact) -> dict[str, object]:
    table: dict[str, object] = {
        "role": artefact.role,
        "name": artefact.name,
        "source": artefact.source,
        "sha256": artefact.sha256,
        "size_bytes": artefact.size_bytes,
        "image": artefact.image,
    }
    return {key: value for key, value in table.items() if value is not None}
