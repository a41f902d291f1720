"""The released forms of tasks, written small and with words of our own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.task_store.folders import write_files

if TYPE_CHECKING:
    from pathlib import Path

BLOCKERS: list[dict[str, Any]] = [
    {
        "id": "late_cutoff",
        "type": "question",
        "subtype": "missing_information",
        "description": "No hour is given.\n",
        "resolution": "At or after 18:30.",
        "example_questions": ["At what hour is a drop-off late?"],
    }
]
QUESTION = "How many drop-offs were late?\n"
INSTRUCTION = """# Instructions
You are working in the `lockers` database.

Answer the following question:
{question}

# Available Commands
- `submit_sql "<query>"`

# Submission Instructions
Submit.
"""


def write_harbor_sql(folder: Path, *, number: int = 0) -> Path:
    """One SQL task folder as Harbor has it, without its database."""
    shared: dict[str, object] = {
        "metadata.json": {
            "dataset_name": f"sql_{number}",
            "hf_task_id": f"public_sql_{number}",
            "task_attempt_id": f"a{number}_b{number}",
            "database_name": "lockers",
            "num_blockers": 1,
        },
        "data_archive.json": {
            "hf_bucket": "Own/sql",
            "db_artifact_path": f"public_sql_{number}/lockers.sqlite",
            "desc_artifact_paths": [f"public_sql_{number}/table_descriptions.csv"],
        },
        "data/business_info.json": {"database_name": "lockers", "business_info": ["One door."]},
        "ask-human-data/blocker_registry.json": {"blockers": BLOCKERS},
    }
    write_files(
        folder,
        {
            **{f"shared/{name}": json.dumps(value) for name, value in shared.items()},
            "shared/ground_truth.sql": "SELECT 1;\r\n",
            "shared/golden_output.csv": "1\n1\n",
            "baseline/instruction.md": INSTRUCTION.format(question=QUESTION),
            "baseline/task.toml": 'schema_version = "1.1"\n',
            "full_info/instruction.md": "All is told.",
        },
    )
    return folder


def write_harbor_swe(folder: Path, **changes: object) -> Path:
    """One SWE task folder as Harbor has it; `changes` go into its metadata."""
    archive = {
        "artifact_path": "images/abc.tar.zst",
        "artifact_bytes": 12,
        "artifact_sha256": "0" * 64,
        "hf_bucket": "Own/images",
    }
    metadata: dict[str, object] = {
        "instance_id": "instance_own__queue-1-v2",
        "dataset_name": "swe_0",
        "attempt_id": "abc",
        "repo_name": "app",
        "repo_name_source": "own/queue",
        "base_commit": "HEAD",
        "image_name": "hilbench-swe:abc",
        "language": "python",
        "blocker_stats": {"total": 1},
        "swe_bench_metadata": {"FAIL_TO_PASS": ["t.py::test_a"], "PASS_TO_PASS": []},
        "test_patch": "--- a/t.py\n+++ b/t.py",
        "test_files": ["t.py"],
        "run_script_path": "/root/run_script.sh",
        "parser_script_path": "/root/parser.py",
        **changes,
    }
    write_files(
        folder,
        {
            "shared/metadata.json": json.dumps(metadata),
            "shared/image_archive.json": json.dumps(archive),
            "shared/problem_statement.txt": "Retry {{ it }}.\n",
            "shared/ask-human-data/blocker_registry.json": json.dumps({"blockers": BLOCKERS}),
            "baseline/instruction.md": "Retry {{ it }}.\n",
        },
    )
    return folder


def sql_row(**changes: object) -> dict[str, Any]:
    """A SQL row of the data set."""
    return {
        "task_id": "public_sql_7",
        "task_type": "SQL",
        "problem": "How many?",
        "blocker_registry": json.dumps({"blockers": BLOCKERS}),
        "business_info": json.dumps(["One door.", " ", 7]),
        "ground_truth_answer": "SELECT 1",
        "repo_or_db_name": "lockers",
        "repo_or_db_download_link": "hf://buckets/Own/sql/public_sql_7/lockers.sqlite",
        "schema_descriptions_download_links": ["hf://buckets/Own/sql/public_sql_7/locker.csv"],
        **changes,
    }


def swe_row(**changes: object) -> dict[str, Any]:
    """A SWE row of the data set."""
    return {
        "task_id": "public_swe_3",
        "uid": "abc",
        "task_type": "swe",
        "problem": "Retry it.",
        "blocker_registry": BLOCKERS,
        "business_info": None,
        "ground_truth_answer": "diff --git a/q b/q\n",
        "repo_or_db_name": "own/queue",
        "repo_or_db_download_link": "https://h.test/images/abc.tar.zst?download=1",
        "tests_to_pass": json.dumps(["t.py::test_a"]),
        "test_files": ["t.py"],
        "test_patch": "--- a/t.py\n+++ b/t.py\n",
        **changes,
    }
