"""Small task folders of our own, for the tests of the store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BLOCKERS = """
[[blockers]]
id = "late_cutoff"
type = "missing parameters"
subtype = "missing_information"
description = "The request says 'late' and gives no hour."
resolution = "A drop-off is late at or after 18:30 local time."
example_questions = ["At what hour does a drop-off start to count as late?"]

[[blockers]]
id = "active_flag"
type = "schema"
description = "There are two flags, is_open and in_service."
resolution = "Use in_service = 1 only."
example_questions = ["Which flag decides that a locker is active?"]
"""

SQL_HEAD = """
format = "hil-mcp/task/1"
id = "{task_id}"
kind = "sql"
statement = "How many drop-offs were late, for each active locker?"

[sql]
database_name = "lockers"
database = "lockers.sqlite"
descriptions = "descriptions"
business_info = "business_info.txt"

[gold]
query = "solution.sql"
"""

REPOSITORY_HEAD = """
format = "hil-mcp/task/1"
id = "{task_id}"
kind = "repository"
statement = "Retry a job that failed."

[repository]
name = "parcels/queue"
language = "python"
tree = "repository"
visible_tests = ["python3", "-m", "unittest", "-v"]

[gold]
patch = "solution.patch"
hidden_tests = "hidden_tests"
test_command = ["python3", "-m", "unittest", "-v"]
fail_to_pass = ["tests.test_retry.RetryTest.test_waits"]
"""


def write_sql_task(folder: Path, *, task_id: str = "lockers_late", head: str = SQL_HEAD) -> Path:
    """A whole SQL task, its database included."""
    write_files(
        folder,
        {
            "task.toml": head.format(task_id=task_id) + BLOCKERS,
            "business_info.txt": "A locker has one door.\n\nA parcel has one sender.\n",
            "solution.sql": "SELECT 1;\n",
            "descriptions/table_descriptions.csv": "table_name,table_description\nlocker,A box\n",
            "descriptions/locker.csv": "original_column_name,combined_description\nid,Its id\n",
        },
    )
    with closing(sqlite3.connect(folder / "lockers.sqlite")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS locker (id INTEGER)")
        db.commit()
    return folder


def write_repository_task(folder: Path, *, task_id: str = "queue_retry") -> Path:
    """A whole repository task with a source tree and hidden tests."""
    write_files(
        folder,
        {
            "task.toml": REPOSITORY_HEAD.format(task_id=task_id) + BLOCKERS,
            "repository/queue.py": "def take():\n    return None\n",
            "repository/tests/test_queue.py": "import unittest\n",
            "hidden_tests/tests/test_queue.py": "import unittest\nimport queue\n",
            "hidden_tests/tests/test_retry.py": "import unittest",
            "solution.patch": "diff --git a/queue.py b/queue.py\n",
        },
    )
    return folder


def write_files(folder: Path, contents: dict[str, str]) -> Path:
    """Write files under `folder`: relative path -> text."""
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return folder
