"""How good a judge was found to be, kept by its fingerprint, to be shown with scores.

One small JSON file for each fingerprint in `HIL_MCP_HOME/judge-quality/`. An evaluation replaces
the one before, unless that was of more pairs or the judge failed in this one: no score shall be
vouched for by the few pairs that were left of an evaluation.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from hil_mcp.errors import DataError
from hil_mcp.whole_file import write_whole
from judge.intervals import to_f1

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from hil_mcp.judge_evaluation import Evaluation

_FOLDER = "judge-quality"


class JudgeQuality(BaseModel):
    """Figures of one judge on one file of pairs; shares in [0, 1], null where undefined."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    fingerprint: str
    """`JudgeFingerprint.digest`."""
    precision: float | None
    precision_interval: tuple[float, float] | None
    recall: float | None
    recall_interval: tuple[float, float] | None
    f1: float | None
    f1_interval: tuple[float, float] | None
    flip_rate: float | None
    """None when each question was asked once."""
    n: int
    failed: int
    pairs: str
    """Name of the file of pairs."""
    pairs_digest: str
    out_of_fold: bool
    measured_at: datetime

    def in_words(self) -> str:
        """The figures with their intervals and what they are of, in one line."""
        figures = (
            ("precision", self.precision, self.precision_interval),
            ("recall", self.recall, self.recall_interval),
            ("F1", self.f1, self.f1_interval),
        )
        parts = [
            f"{name} {'undefined' if value is None else f'{value:.3f}'}"
            + (f" [{span[0]:.3f}, {span[1]:.3f}]" if span else "")
            for name, value, span in figures
        ]
        failed = f", {self.failed} more without a verdict" if self.failed else ""
        fold = ", out of fold" if self.out_of_fold else ""
        return f"{', '.join(parts)}, on {self.n} pairs of {self.pairs}{failed}{fold}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownQualities:
    """What is known of some judges, to stand beside their scores. It changes no figure.

    Attributes:
        by_fingerprint: The judges that were measured.
        problems: One line for each kept file that could not be read.
    """

    by_fingerprint: Mapping[str, JudgeQuality]
    problems: tuple[str, ...]


def utc_now() -> datetime:
    """The time now, with its zone."""
    return datetime.now(UTC)


def quality_folder(home: Path) -> Path:
    """Where evaluations are kept, made if need be.

    Raises:
        DataError: It cannot be made or written to.
    """
    folder = home / _FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as exc:
        raise DataError(f"{folder}: cannot be made: {exc.strerror}") from exc
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"{folder}: cannot be written to")
    return folder


def store_quality(
    home: Path, evaluation: Evaluation, *, now: Callable[[], datetime] = utc_now
) -> Path:
    """Keep an evaluation; returns its file.

    Raises:
        DataError: The judge failed on a question, what is kept is of more pairs, or the file cannot
            be written; what was kept stays.
    """
    figures, quality = evaluation.figures, evaluation.figures.quality
    if figures.failed_answers:
        asked = (quality.n + figures.failed) * figures.repeats
        raise DataError(
            f"not kept: the judge failed on {figures.failed_answers} of {asked} questions"
        )
    jaccard = quality.jaccard.interval
    kept = JudgeQuality(
        fingerprint=evaluation.fingerprint.digest,
        precision=quality.precision.value,
        precision_interval=quality.precision.interval,
        recall=quality.recall.value,
        recall_interval=quality.recall.interval,
        f1=quality.f1,
        f1_interval=(to_f1(jaccard[0]), to_f1(jaccard[1])) if jaccard else None,
        flip_rate=figures.flips.value if figures.flips else None,
        n=quality.n,
        failed=figures.failed,
        pairs=evaluation.pairs_path.name,
        pairs_digest=evaluation.pairs_digest,
        out_of_fold=evaluation.is_out_of_fold,
        measured_at=now(),
    )
    path = _path(quality_folder(home), kept.fingerprint)
    before = known_qualities(home, [kept.fingerprint]).by_fingerprint.get(kept.fingerprint)
    if before is not None and before.n > kept.n and not before.failed:
        raise DataError(
            f"not kept: {path} is of {before.n} pairs ({before.pairs}) and this of {kept.n}: "
            "delete it to keep this one"
        )
    try:
        write_whole(path, kept.model_dump_json(indent=2) + "\n")
    except OSError as exc:
        raise DataError(f"{path}: cannot be written: {exc.strerror}") from exc
    return path


def read_quality(home: Path, fingerprint: str) -> JudgeQuality | None:
    """What is known of the judge with this fingerprint; None when it was never measured.

    Args:
        home: HIL_MCP_HOME.
        fingerprint: As in a log's `session_start.judge.fingerprint`.

    Raises:
        DataError: The file is there and cannot be read.
    """
    path = _path(home / _FOLDER, fingerprint)
    try:
        kept = JudgeQuality.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as exc:
        raise DataError(
            f'{path}: cannot be read: delete it, or run "hil-mcp judge eval --store" again'
        ) from exc
    return kept if kept.fingerprint == fingerprint else None


def known_qualities(home: Path, fingerprints: Iterable[str]) -> KnownQualities:
    """What is known of these judges; a file that cannot be read is a problem, not an end."""
    known: dict[str, JudgeQuality] = {}
    problems: list[str] = []
    for fingerprint in dict.fromkeys(fingerprints):
        try:
            quality = read_quality(home, fingerprint)
        except DataError as exc:
            problems.append(str(exc))
            continue
        if quality is not None:
            known[fingerprint] = quality
    return KnownQualities(by_fingerprint=known, problems=tuple(problems))


def _path(folder: Path, fingerprint: str) -> Path:
    # A fingerprint comes out of a log, which is data: only its digits may name a file.
    name = "".join(char for char in fingerprint if char in "0123456789abcdef")
    return folder / f"{name or 'none'}.json"
