"""Which changed files a build or a test run made, so that a patch can leave them out.

By path alone: a source file that merely mentions such a name is not generated.
"""

from __future__ import annotations

_FOLDERS = frozenset(
    {
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".venv",
        "node_modules",
    }
)
_FOLDER_ENDINGS = (".egg-info", ".dist-info")
_ENDINGS = (".pyc", ".pyo", ".so", ".dll", ".dylib", ".class", ".o")
_NAMES = frozenset({".DS_Store", "dump.rdb", "appendonly.aof"})


def is_generated(path: str) -> bool:
    """Whether a path inside a repository, with `/`, is of a kind that nobody writes by hand."""
    *folders, name = path.split("/")
    if name in _NAMES or name.endswith(_ENDINGS):
        return True
    return any(f in _FOLDERS or f.endswith(_FOLDER_ENDINGS) for f in folders)
