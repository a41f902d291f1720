"""The protected set: what an agent under measurement must not read."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from hil_mcp.sandbox.opening import OUR_PACKAGES, own_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Packages of the system's own interpreters, which a guarded cell sees.
_SITE_FOLDERS = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3")


def protected_paths(*, home: Path, run_dir: Path, secrets: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Everything on disk that holds an answer, a log or a secret.

    Args:
        home: `HIL_MCP_HOME`: catalogue, logs, caches, settings.
        run_dir: The run's folder: its attempts, and the cells of the others.
        secrets: Files of the operator's, such as a file with a token or a key.

    Returns:
        Real paths, each once; none lies in another. What does not exist is among them too.
    """
    paths = {path.resolve() for path in (home, run_dir, *secrets, *installed_folders())}
    return tuple(sorted(path for path in paths if not paths & set(path.parents)))


def installed_folders() -> tuple[Path, ...]:
    """Where this program is installed: the starter tasks' answers are in it, and in its tests.

    The four packages and their metadata, the checkout if they run from one, the virtual
    environment, and further copies in the system's own interpreters.
    """
    return tuple(dict.fromkeys(path.resolve() for path in _installed()))


def _installed() -> Iterator[Path]:
    for place in own_folders():
        yield place
        if (place.parent / "pyproject.toml").is_file():
            yield place.parent
    if sys.prefix != sys.base_prefix:
        yield Path(sys.prefix)
    yield from _metadata()
    for prefix in (sys.base_prefix, "/usr", "/usr/local"):
        for folder in _SITE_FOLDERS:
            yield from _copies(Path(prefix).glob(folder))


def _metadata() -> Iterator[Path]:
    try:
        files = distribution("hil-mcp").files or ()
    except PackageNotFoundError:  # run from a checkout that is not installed
        return
    for file in files:
        if file.parent.suffix == ".dist-info":
            yield Path(str(file.locate())).parent


def _copies(site_folders: Iterable[Path]) -> Iterator[Path]:
    # `judge` and `clients` are general words: somebody else's package stays visible.
    for folder in site_folders:
        if (folder / "hil_mcp" / "__init__.py").is_file():
            yield from (folder / name for name in OUR_PACKAGES)
