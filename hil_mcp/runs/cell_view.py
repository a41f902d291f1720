"""Which of this machine's folders a guarded cell sees: the nearest word on a path counts.

What is shown may lie below something hidden, and the other way round: an agent installed in a
checkout is seen, the rest of the checkout is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hil_mcp.sandbox.system_view import SYSTEM_FOLDERS, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TMP = Path("/tmp")  # noqa: S108  # the cell's own

_View = Literal["hidden", "shown", "writable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    path: Path
    view: _View

    def arguments(self) -> list[str]:
        match self.view:
            case "writable":
                return ["--bind", str(self.path), str(self.path)]
            case "shown":
                return shown(self.path)
            case "hidden" if self.path.is_dir():
                return ["--tmpfs", str(self.path)]
            case "hidden":
                return ["--ro-bind", "/dev/null", str(self.path)]


def view_arguments(
    *, programs: Iterable[Path], writable: Sequence[Path], protected: Iterable[Path]
) -> list[str]:
    """Arguments of `bwrap` for folders, files and a `/tmp` of the cell's own.

    Args:
        programs: Shown read-only, links as links.
        writable: Real paths of folders that the agent may write to.
        protected: Hidden wherever they would be seen; what does not exist is left out.
    """
    places = [
        *(_Place(path=path, view="shown") for path in (*SYSTEM_FOLDERS, *programs)),
        *(_Place(path=path.resolve(), view="hidden") for path in protected if path.exists()),
        _Place(path=_TMP, view="hidden"),
        *(_Place(path=path, view="writable") for path in writable),
    ]
    kept = _needed(places)
    masks = [place for place in kept if place.view == "hidden" and place.path != _TMP]
    # Made read-only last: what lies below one is put into it first.
    return [
        *(argument for place in kept for argument in place.arguments()),
        *(a for place in masks if place.path.is_dir() for a in ("--remount-ro", str(place.path))),
    ]


def _needed(places: Iterable[_Place]) -> list[_Place]:
    """Those that change what is seen, parents first; on one path the later of `places` counts."""
    last = {place.path: place for place in places}
    kept: dict[Path, _Place] = {}
    for place in sorted(last.values(), key=lambda place: len(place.path.parts)):
        above = next((kept[parent] for parent in place.path.parents if parent in kept), None)
        if place.path == _TMP or place.view != (above.view if above else "hidden"):
            kept[place.path] = place
    return list(kept.values())
