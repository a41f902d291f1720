"""Tables for people."""

from __future__ import annotations

from keepsake.index import Index
from keepsake.snapshot import Snapshot

_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"]


def human_size(size: int) -> str:
    """A size with one decimal and a unit, such as `1.5 GiB`; bytes have no decimal."""
    value = float(size)
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def list_table(snapshots: list[Snapshot]) -> str:
    """One line a snapshot: name, time, size and marks (v verified, p pinned)."""
    rows = []
    for snapshot in snapshots:
        marks = ("v" if snapshot.verified else "-") + ("p" if snapshot.pinned else "-")
        made_at = snapshot.made_at.strftime("%Y-%m-%d %H:%M")
        rows.append((snapshot.name, made_at, human_size(snapshot.size), marks))
    return _aligned(rows)


def usage_table(index: Index) -> str:
    """One line a host: number of snapshots and their size, then the total."""
    rows = []
    for host in index.hosts():
        own = index.of_host(host)
        rows.append((host, str(len(own)), human_size(sum(s.size for s in own))))
    everything = index.all()
    rows.append(("total", str(len(everything)), human_size(sum(s.size for s in everything))))
    return _aligned(rows)


def _aligned(rows: list[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    ]
    return "\n".join(lines)
