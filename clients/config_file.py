"""Write a server into an agent's own configuration file, and take it out again.

The file as it was is kept in a record of ours, so that taking the server out gives it back byte for
byte when nobody else has written in between, and by an edit in place when somebody has. A file is
replaced as a whole, with its mode, through a link to what the link points at; one that cannot be
parsed, or that is read-only, is left alone.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from clients.config_edit import has_server, with_server, without_server
from clients.errors import ConfigFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.client import ConfigTarget

_RECORD = "record.json"
_BEFORE = "before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to become of one file.

    Attributes:
        path: The file, links followed.
        now: What it holds; None where there is no file.
        after: What it is to hold; None where it is to go.
        before: What it held before any server of ours; None where there was no file.
    """

    path: Path
    now: bytes | None
    after: bytes | None
    before: bytes | None

    @property
    def is_nothing(self) -> bool:
        """Whether the file is as it is to be."""
        return self.now == self.after

    def diff(self) -> str:
        """The change as a unified diff; empty where there is none."""
        sides = (self.now, self.after)
        now, after = ((data or b"").decode().splitlines(keepends=True) for data in sides)
        lines = difflib.unified_diff(now, after, str(self.path), str(self.path))
        ended = (line if line.endswith("\n") else f"{line}\n" for line in lines)
        return "".join(line.replace("\r\n", "\n") for line in ended)


class _Record(BaseModel):
    """What we know of a file that we wrote to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    existed: bool
    written_sha256: str
    made_folders: int
    """Folders that were made to hold the file, counted from it upwards."""


class ConfigFiles:
    """The agents' configuration files, and our records of them.

    Args:
        records_dir: A folder of our own; a record holds a copy of the file, secrets and all, so it
            is for the owner's eyes only.
    """

    def __init__(self, records_dir: Path) -> None:
        self._records_dir = records_dir

    def plan_server(self, target: ConfigTarget, name: str, entry: Mapping[str, object]) -> Change:
        """The change that puts a server in, or replaces ours.

        Raises:
            ConfigFileError: The file cannot be read or parsed, or has a server of that name that
                is not ours.
        """
        path, now = _read(target.path)
        self._has_ours(path, now, target, name)
        before = self._before(path, now, target, name)
        after = with_server(target, _decoded(path, now), name, entry).encode()
        return Change(path=path, now=now, after=after, before=before)

    def plan_removal(self, target: ConfigTarget, name: str) -> Change:
        """The change that takes a server out; nothing where it is not there.

        Raises:
            ConfigFileError: The file cannot be read or parsed, or has a server of that name that
                is not ours.
        """
        path, now = _read(target.path)
        if not self._has_ours(path, now, target, name):
            return Change(path=path, now=now, after=now, before=now)
        before = self._before(path, now, target, name)
        return Change(path=path, now=now, after=before, before=before)

    def write_server(self, change: Change) -> Path:
        """Carry out a change that puts a server in.

        Returns:
            The folder with the record: the file as it was lies there as `before`.

        Raises:
            ConfigFileError: The file cannot be written, or was changed meanwhile.
        """
        assert change.after is not None  # noqa: S101  # with a server in it, there is a file
        record = self._record(change.path)
        made = record.made_folders if record else _missing_folders(change.path)
        folder = self._folder(change.path)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _replace(folder / _BEFORE, change.before or b"", mode=0o600)
        kept = _Record(
            path=str(change.path),
            existed=change.before is not None,
            written_sha256=hashlib.sha256(change.after).hexdigest(),
            made_folders=made,
        )
        # The record first: a file of ours without a record could not be put back.
        _replace(folder / _RECORD, kept.model_dump_json().encode(), mode=0o600)
        try:
            _write(change)
        except ConfigFileError:
            if record is None:
                shutil.rmtree(folder)
            raise
        return folder

    def write_removal(self, change: Change) -> None:
        """Carry out a change that takes a server out, and forget the file.

        Raises:
            ConfigFileError: The file cannot be written, or was changed meanwhile.
        """
        record = self._record(change.path)
        _write(change)
        if change.after is None and record is not None:
            for folder in list(change.path.parents)[: record.made_folders]:
                if any(folder.iterdir()):
                    break
                folder.rmdir()
        shutil.rmtree(self._folder(change.path), ignore_errors=True)

    def _has_ours(self, path: Path, now: bytes | None, target: ConfigTarget, name: str) -> bool:
        is_there = has_server(target, _decoded(path, now), name)
        if is_there and self._record(path) is None:
            raise ConfigFileError(
                f'{path}: has a server "{name}" that hil-mcp has no record of; '
                "take it out by hand first"
            )
        return is_there

    def _before(
        self, path: Path, now: bytes | None, target: ConfigTarget, name: str
    ) -> bytes | None:
        """The file without our server: as kept if only we wrote since, else worked out."""
        record = self._record(path)
        if now is None:
            return None
        kept = (self._folder(path) / _BEFORE).read_bytes() if record else now
        if record and hashlib.sha256(now).hexdigest() == record.written_sha256:
            return kept if record.existed else None
        return without_server(target, now.decode(), name, before=kept.decode()).encode()

    def _folder(self, path: Path) -> Path:
        return self._records_dir / hashlib.sha256(str(path).encode()).hexdigest()[:16]

    def _record(self, path: Path) -> _Record | None:
        try:
            return _Record.model_validate_json((self._folder(path) / _RECORD).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None


def _read(path: Path) -> tuple[Path, bytes | None]:
    try:
        path = path.resolve()
        if not path.exists():
            return path, None
        return path, path.read_bytes()
    except (OSError, RuntimeError) as exc:  # a link to itself is a RuntimeError before Python 3.13
        raise ConfigFileError(f"{path}: cannot be read: {exc}") from exc


def _decoded(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as exc:
        raise ConfigFileError(
            f"{path}: is not changed, since it is not UTF-8 (byte {exc.start}); save it as UTF-8"
        ) from exc


def _missing_folders(path: Path) -> int:
    return sum(not folder.exists() for folder in path.parents)


def _write(change: Change) -> None:
    if change.is_nothing:
        return
    path = change.path
    if _read(path)[1] != change.now:
        raise ConfigFileError(f"{path}: was changed by somebody else just now; try again")
    try:
        if change.now is not None and not path.stat().st_mode & stat.S_IWUSR:
            raise ConfigFileError(f"{path}: is read-only; make it writable first: chmod u+w {path}")
        if change.after is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, change.after, mode=None)
    except OSError as exc:
        raise ConfigFileError(f"{path}: cannot be written: {exc.strerror}") from exc


def _replace(path: Path, data: bytes, *, mode: int | None) -> None:
    """Put a whole new file in the place of `path`: with that mode, or with the one it has."""
    if mode is None:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    owner = path.stat() if path.exists() else None
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        if owner is not None and os.geteuid() == 0:
            os.chown(temporary, owner.st_uid, owner.st_gid)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
