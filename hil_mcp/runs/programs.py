"""What an agent's program needs to be seen: itself, the links to it, its interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

from hil_mcp.settings import find_program

_MAX_LINKS = 40
_SHEBANG_BYTES = 256
_MAX_INTERPRETERS = 4
_INSTALLATION_SIGNS = ("lib", "lib64", "include")


def base_python() -> Path:
    """The interpreter beneath this one's virtual environment."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix, "bin", f"python{version}")
    return base.resolve() if base.exists() else Path(sys.executable).resolve()


def needed_folders(program: Path) -> tuple[Path, ...]:
    """The files and folders without which a program does not start.

    Every link on the way to it, which is returned as a link; the whole `node_modules` that it is
    in, or its installation (`PREFIX` of `PREFIX/bin/NAME`), or else the file alone; the same for
    the interpreter that its first line names. The user's home folder, and what holds it, is never
    among them.

    Args:
        program: Absolute path; a path that does not exist needs nothing.
    """
    found: dict[Path, None] = {}
    _collect(program, found, _MAX_INTERPRETERS)
    return tuple(found)


def _collect(program: Path, found: dict[Path, None], n_left: int) -> None:
    links, real = follow(program.absolute())
    found.update(dict.fromkeys(links))
    if not real.is_file():
        return
    for place in _places(real):
        found[place] = None
    interpreter = _interpreter(real)
    if interpreter is not None and n_left > 0:
        _collect(interpreter, found, n_left - 1)


def follow(path: Path) -> tuple[list[Path], Path]:
    """The links on the way to a path, each by its own real place, and where they end."""
    links: list[Path] = []
    here, left = Path("/"), list(path.parts[1:])
    while left:
        part = left.pop(0)
        step = here.parent if part == ".." else here / part
        if step.is_symlink() and len(links) < _MAX_LINKS:
            links.append(step)
            target = step.readlink()
            here = Path("/") if target.is_absolute() else here
            left = [*(part for part in target.parts if part != "/"), *left]
        else:
            here = step
    return links, here


def _places(real: Path) -> list[Path]:
    modules = [parent for parent in real.parents if parent.name == "node_modules"]
    if modules:
        return [modules[-1]]
    prefix = real.parent.parent
    if real.parent.name == "bin" and _is_installation(prefix):
        config = prefix / "pyvenv.cfg"
        return [prefix, *([_base_of(config)] if config.is_file() else [])]
    return [real]


def _is_installation(prefix: Path) -> bool:
    home = Path.home()
    if home.is_relative_to(prefix) or prefix == home / ".local":
        return False
    return any((prefix / sign).is_dir() for sign in _INSTALLATION_SIGNS)


def _base_of(config: Path) -> Path:
    for line in config.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            return Path(value.strip()).resolve().parent
    return config.parent


def _interpreter(real: Path) -> Path | None:
    with real.open("rb") as file:
        first = file.read(_SHEBANG_BYTES).partition(b"\n")[0]
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        # `env -S node --flag` and `env NAME=value node` name it later.
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = find_program(names[0]) if names else None
        return Path(found) if found else None
    return Path(words[0]) if words else None
