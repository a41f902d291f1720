"""`hil-mcp tasks`, through the command itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hil_mcp.cli.main import main
from tests.support.hub import running_hub
from tests.task_store.folders import write_repository_task, write_sql_task
from tests.task_store.released import sql_row, write_harbor_sql, write_harbor_swe

Captured = pytest.CaptureFixture[str]
RESOLUTION = "A drop-off is late at or after 18:30 local time."


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["tasks", *map(str, arguments)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def document(capsys: Captured, *arguments: str | Path, status: int = 0) -> Any:
    capsys.readouterr()
    assert run(*arguments, "--json") == status
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    write_sql_task(tmp_path / "own" / "sql", task_id="own_sql")
    write_repository_task(tmp_path / "own" / "repository", task_id="own_repository")
    return tmp_path / "own"


def test_import_brings_in_what_can_be_read_and_names_the_rest(
    folders: Path, capsys: Captured
) -> None:
    broken = write_sql_task(folders / "broken", task_id="broken") / "task.toml"
    broken.write_text(broken.read_text().replace('type = "schema"', "type = 5"))

    assert run("import", folders) == 3

    shown = capsys.readouterr()
    assert shown.out == "2 added, 1 failed\n"
    assert shown.err == f"{broken}: blockers[1].type: is a number, a string is expected\n"
    assert {t["id"] for t in document(capsys, "list")} >= {"own_sql", "own_repository"}
    assert run("import", folders) == 3
    assert capsys.readouterr().out == "2 unchanged, 1 failed\n"


def test_import_tells_a_machine_what_came_of_each(folders: Path, capsys: Captured) -> None:
    result = document(capsys, "import", folders / "sql", "--as", "mine")

    assert {key: result[key] for key in ("added", "failed")} == {"added": 1, "failed": 0}
    assert result["tasks"] == [
        {
            "id": "mine_own_sql",
            "place": str(folders / "sql" / "task.toml"),
            "outcome": "added",
            "warnings": [],
            "error": None,
        }
    ]


def test_an_id_from_another_source_needs_a_prefix(tmp_path: Path, capsys: Captured) -> None:
    write_harbor_sql(tmp_path / "sql_7", number=7)
    (tmp_path / "rows.jsonl").write_text(json.dumps(sql_row()) + "\n")
    assert run("import", tmp_path / "sql_7") == 0

    assert run("import", tmp_path / "rows.jsonl") == 3
    assert "sql_7: the id 'sql_7' belongs to a task from another source (harbor)" in (
        capsys.readouterr().err
    )

    assert run("import", tmp_path / "rows.jsonl", "--as", "hf") == 0
    assert document(capsys, "show", "hf_public_sql_7")["id"] == "hf_sql_7"


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("import", "/none"), 3, "/none: is not there"),
        (("import", "{empty}"), 3, "holds no tasks in a form that is known here: a Harbor"),
        (("import", "{empty}", "--as", "a/b"), 2, "--as 'a/b': letters, digits, - and _ only"),
        (("show", "sql-17"), 2, "unknown task 'sql-17': see \"hil-mcp tasks list\""),
        (("lint", "sql-17"), 2, "unknown task 'sql-17'"),
        (("fetch",), 2, "name tasks by their ids, or pass --all"),
        (("fetch", "x", "--all"), 2, "name tasks by their ids, or pass --all"),
        (("export", "sql-17", "--into", "{empty}"), 2, "unknown task 'sql-17'"),
        (("prune", "sql-17"), 2, "unknown task 'sql-17'"),
        (("import", "hf:Own/rows"), 3, "hf://datasets/Own/rows: "),
    ],
)
def test_bad_input_is_one_line_and_a_status(
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    status: int,
    complaint: str,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:1")
    (tmp_path / "empty").mkdir()
    filled = [part.replace("{empty}", str(tmp_path / "empty")) for part in arguments]

    assert run(*filled) == status

    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_list_tells_a_machine_what_there_is(tmp_path: Path, capsys: Captured) -> None:
    write_harbor_sql(tmp_path / "sql_0")
    registry = tmp_path / "sql_0" / "shared" / "ask-human-data" / "blocker_registry.json"
    registry.write_text('{"blockers": []}')
    write_harbor_swe(tmp_path / "swe_0")
    run("import", tmp_path)

    listed = {task["id"]: task for task in document(capsys, "list")}

    assert listed["sql_0"] == {
        "id": "sql_0",
        "kind": "sql",
        "modes": ["baseline", "full_info"],
        "n_blockers": 0,
        "source": "harbor",
        "missing": ["lockers.sqlite", "table_descriptions.csv"],
    }
    assert listed["swe_0"]["modes"] == ["baseline", "ask_human", "full_info", "spec_only"]
    assert run("list") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["swe_0", "repository", "harbor", "1", "1"] in rows


def test_show_keeps_the_registry_and_the_answer_back(folders: Path, capsys: Captured) -> None:
    run("import", folders)
    for name in ("own_sql", "own_repository"):
        capsys.readouterr()
        assert run("show", name) == 0
        text = capsys.readouterr().out + json.dumps(document(capsys, "show", name))
        assert "blockers and hidden answer are not shown: pass --reveal" in text.lower()
        for hidden in (RESOLUTION, "late_cutoff", "SELECT 1", "diff --git", "test_waits"):
            assert hidden not in text, (name, hidden)


def test_show_reads_well_and_reveals_on_demand(folders: Path, capsys: Captured) -> None:
    run("import", folders)
    capsys.readouterr()

    assert run("show", "own_sql", "--reveal") == 0
    sql = capsys.readouterr().out
    assert run("show", "own_repository", "--reveal") == 0
    repository = capsys.readouterr().out

    assert sql.startswith("own_sql: a sql task from folder\n  database        lockers (lockers.sq")
    assert "\nStatement\n  How many drop-offs were late, for each active locker?\n" in sql
    assert "\nBusiness rules\n  - A locker has one door.\n  - A parcel" in sql
    assert f"  -> {RESOLUTION}\n" in sql
    assert "missing parameters / missing_information (missing)" in sql
    assert "\nHidden answer\n  SELECT 1;\n" in sql
    assert "visible tests  python3 -m unittest -v" in repository
    assert "+import queue" in repository
    revealed = document(capsys, "show", "own_repository", "--reveal")
    assert revealed["blockers"][0]["resolution"] == RESOLUTION
    assert revealed["gold"]["fail_to_pass"] == ["tests.test_retry.RetryTest.test_waits"]


def test_show_names_what_is_missing_and_what_was_mended(tmp_path: Path, capsys: Captured) -> None:
    write_harbor_swe(tmp_path / "swe_0", test_patch="")
    folder = write_sql_task(tmp_path / "folders" / "a", task_id="a")
    run("import", tmp_path / "folders")
    (folder / "business_info.txt").write_text("Another rule.\n")
    run("import", tmp_path / "folders")
    assert run("import", tmp_path / "swe_0") == 0
    assert "swe_0: there is no test patch here" in capsys.readouterr().err

    assert run("show", "swe_0") == 0
    swe = capsys.readouterr().out
    assert run("show", "a") == 0
    own = capsys.readouterr().out

    assert 'abc.tar.zst; get with "hil-mcp tasks fetch swe_0"' in swe
    assert 'warnings    1; see "hil-mcp tasks lint swe_0"' in swe
    assert "aliases     instance_own__queue-1-v2, abc" in swe
    assert "  versions  " in own


def test_warnings_are_told_once_for_all_their_tasks(tmp_path: Path, capsys: Captured) -> None:
    for number in range(3):
        write_harbor_swe(
            tmp_path / f"swe_{number}",
            dataset_name=f"swe_{number}",
            instance_id=f"i{number}",
            attempt_id=f"a{number}",
            test_patch="",
        )

    assert run("import", tmp_path, "--strict") == 3

    shown = capsys.readouterr()
    assert shown.out == "3 added\n"
    assert shown.err.startswith("3 tasks from swe_0 to swe_2: there is no test patch here")


def test_lint_tells_what_is_wrong_and_ends_with_a_status(folders: Path, capsys: Captured) -> None:
    (folders / "sql" / "solution.sql").write_text("SELEC 1")
    run("import", folders)
    capsys.readouterr()

    assert run("lint", "own_sql", "own_repository") == 3

    shown = capsys.readouterr()
    assert "own_sql: error: the hidden answer does not parse as one SQLite query" in shown.out
    assert shown.err == "errors in 1 tasks: own_sql\n"
    assert run("lint", "own_repository") == 0
    assert run("lint", "own_repository", "--strict") == 3
    findings = document(capsys, "lint", "own_repository")
    assert findings[0]["id"] == "own_repository"
    assert findings[0]["findings"][0]["severity"] == "warning"
    assert {task["id"] for task in document(capsys, "lint", status=3)} > {"own_sql"}


def test_export_writes_folders_that_come_in_again(
    folders: Path, tmp_path: Path, capsys: Captured
) -> None:
    run("import", folders)

    exported = document(capsys, "export", "own_sql", "own_repository", "--into", tmp_path / "out")

    assert [Path(task["path"]).name for task in exported] == ["own_sql", "own_repository"]
    assert document(capsys, "import", tmp_path / "out")["unchanged"] == 2
    assert run("export", "own_sql", "--into", tmp_path / "out") == 3
    assert "is there already" in capsys.readouterr().err
    assert run("export", "own_sql", "--into", tmp_path / "other") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'other' / 'own_sql'}\n"


def test_prune_removes_tasks_and_what_nobody_needs(
    folders: Path, home: Path, tmp_path: Path, capsys: Captured
) -> None:
    run("import", folders)
    (home / "artefacts" / "partial").mkdir()
    (home / "artefacts" / "partial" / "ab").write_bytes(b"123")
    (home / "artefacts" / "partial" / "ab.lock").touch()

    result = document(capsys, "prune", "own_sql")

    assert result["removed"] == ["own_sql"]
    assert result["files"] == 3
    assert result["freed_bytes"] > 3
    assert "own_sql" not in {task["id"] for task in document(capsys, "list")}
    assert run("prune") == 0
    assert capsys.readouterr().out.startswith("0 tasks, 0 old versions, 0 files removed; 0 bytes")


def test_fetch_goes_on_after_a_failure(folders: Path, tmp_path: Path, capsys: Captured) -> None:
    task_file = folders / "sql" / "task.toml"
    named = '[[fetch]]\nrole = "database"\nname = "d.sqlite"\nsource = "../d"\n[gold]'
    task_file.write_text(
        task_file.read_text()
        .replace('database = "lockers.sqlite"\n', "")
        .replace("[gold]", named)
        .replace(
            "[gold]", '[[fetch]]\nrole = "description"\nname = "e.csv"\nsource = "e"\n[gold]', 1
        )
    )
    (folders / "d").write_bytes(b"database")
    run("import", folders)

    result = document(capsys, "fetch", "own_sql", "own_repository", status=3)

    outcomes = {file["name"]: file["outcome"] for file in result}
    assert outcomes == {
        "d.sqlite": "fetched",
        "e.csv": "failed",
        "locker.csv": "present",
        "table_descriptions.csv": "present",
        "repository.tar": "present",
    }
    assert Path(result[0]["path"]).read_bytes() == b"database"
    assert run("fetch", "own_sql") == 3
    shown = capsys.readouterr()
    assert "own_sql d.sqlite: present\n" in shown.out
    assert shown.err.endswith("e: No such file or directory\n")


def test_images_come_from_the_tree_that_the_releases_variable_names(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_harbor_swe(tmp_path / "swe_0")
    archive = tmp_path / "swe_0" / "shared" / "image_archive.json"
    values = json.loads(archive.read_text())
    archive.write_text(json.dumps({**values, "artifact_sha256": None, "artifact_bytes": 5}))
    (tmp_path / "tree" / "images").mkdir(parents=True)
    (tmp_path / "tree" / "images" / "abc.tar.zst").write_bytes(b"image")
    monkeypatch.setenv("HILBENCH_SWE_IMAGE_ARCHIVE_ROOT", str(tmp_path / "tree"))
    run("import", tmp_path / "swe_0")

    (file,) = document(capsys, "fetch", "swe_0")

    assert Path(file["path"]).read_bytes() == b"image"


def test_a_whole_program_fetches_from_the_hub_that_its_variable_names(
    home: Path, tmp_path: Path
) -> None:
    row = sql_row(schema_descriptions_download_links=[])
    with running_hub() as hub:
        hub.files["datasets/Own/rows/train.jsonl"] = (json.dumps(row) + "\n").encode()
        hub.files["buckets/Own/sql/public_sql_7/lockers.sqlite"] = b"a database"
        environment = {
            **os.environ,
            "HF_ENDPOINT": hub.address,
            "HF_HOME": str(tmp_path / "hf"),
        }

        def program(*arguments: str) -> str:
            return subprocess.run(
                [sys.executable, "-m", "hil_mcp", "tasks", *arguments],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            ).stdout

        assert program("import", "hf:Own/rows") == "1 added\n"
        files = json.loads(program("fetch", "--all", "--json"))

    (file,) = (file for file in files if file["task"] == "sql_7")
    assert file["outcome"] == "fetched"
    assert Path(file["path"]).read_bytes() == b"a database"
    assert Path(file["path"]).is_relative_to(home)


def test_the_shared_checkout_comes_in_whole(shared_dir: Path, capsys: Captured) -> None:
    result = document(capsys, "import", shared_dir / "hil-bench")

    assert (result["added"], result["failed"]) == (100, 0)
    assert run("import", shared_dir / "hil-bench") == 0
    assert capsys.readouterr().out == "100 unchanged\n"
    assert run("show", "sql_0") == 0
    page = capsys.readouterr().out
    assert page.startswith("sql_0: a sql task from harbor\n")
    task = document(capsys, "show", "sql_0", "--reveal")
    assert not any(blocker["resolution"] in page for blocker in task["blockers"])
