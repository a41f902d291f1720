"""The index file: all snapshots, loaded and saved as a whole."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from keepsake.snapshot import Snapshot, format_line, parse_line


class UnknownSnapshotError(KeyError):
    """No snapshot of this name is in the index."""


class Index:
    """The snapshots of an index, by name."""

    def __init__(self, snapshots: list[Snapshot]) -> None:
        self._by_name = {snapshot.name: snapshot for snapshot in snapshots}
        if len(self._by_name) != len(snapshots):
            raise ValueError("two snapshots have the same name")

    def all(self) -> list[Snapshot]:
        """Every snapshot, oldest first; snapshots of the same minute by name."""
        return sorted(self._by_name.values(), key=lambda s: (s.made_at, s.name))

    def hosts(self) -> list[str]:
        """Every host that has a snapshot, in order."""
        return sorted({snapshot.host for snapshot in self._by_name.values()})

    def of_host(self, host: str) -> list[Snapshot]:
        """The snapshots of one host, oldest first."""
        return [snapshot for snapshot in self.all() if snapshot.host == host]

    def pin(self, name: str, pinned: bool = True) -> None:
        """Set or take away the pin of a snapshot."""
        if name not in self._by_name:
            raise UnknownSnapshotError(name)
        self._by_name[name] = replace(self._by_name[name], pinned=pinned)


def load_index(path: Path) -> Index:
    """Read an index file."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return Index([parse_line(line) for line in lines if line.strip() and not line.startswith("#")])


def save_index(index: Index, path: Path) -> None:
    """Write an index file; a reader sees the old one or the new one, never half of it."""
    text = "".join(f"{format_line(snapshot)}\n" for snapshot in index.all())
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
