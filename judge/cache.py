"""Verdicts kept in SQLite, so that the same question of the same task is judged once.

A hit is a verdict with source `cache` and still counts as a question. Failures are not kept. The
cache is never the reason for a failure: where it cannot be used, the judge is asked.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import time
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from judge.lifecycle import close_judge, probe_judge, warm_judge
from judge.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from judge.verdict import Judge, JudgeFingerprint, RegistryView

logger = logging.getLogger(__name__)

_BUSY_TIMEOUT_S = 5.0
_TABLE = "verdicts"
_KEY = ("question_sha256", "registry_digest", "fingerprint")


class CachedJudge:
    """A judge with a memory on disk. Several processes may share the file."""

    def __init__(
        self, judge: Judge, path: Path, *, timer: Callable[[], float] = time.perf_counter
    ) -> None:
        """Put the cache before a judge.

        Args:
            judge: Asked on a miss.
            path: SQLite file; it and its folder are made when the first verdict is kept.
            timer: Seconds, for the latency of a hit.
        """
        self._judge = judge
        self._path = path
        self._timer = timer

    @property
    def fingerprint(self) -> JudgeFingerprint:
        """The judge's own."""
        return self._judge.fingerprint

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        """The kept verdict on exactly this question and registry by this judge, else a new one.

        Raises:
            JudgeError: Nothing is kept and the judge failed.
        """
        started = self._timer()
        key = _key(question, registry, self._judge.fingerprint.digest)
        kept = await anyio.to_thread.run_sync(self._read, key)
        if kept is not None:
            return replace(
                kept,
                source="cache",
                attempts=0,
                tokens=None,
                latency_ms=(self._timer() - started) * 1000,
            )
        verdict = await self._judge.decide(question, registry)
        # By the verdict's own fingerprint: the first reply may have told the model's name.
        await anyio.to_thread.run_sync(
            self._keep, _key(question, registry, verdict.fingerprint), verdict
        )
        return verdict

    async def probe(self) -> None:
        """Probe the judge itself: the cache is gone round."""
        await probe_judge(self._judge)

    async def warm_up(self, registry: RegistryView | None = None) -> None:
        """Load the judge's model."""
        await warm_judge(self._judge, registry)

    async def aclose(self) -> None:
        """Close the judge; the file is open only while it is used."""
        await close_judge(self._judge)

    def _read(self, key: tuple[str, str, str]) -> Verdict | None:
        if not self._path.exists():
            return None
        try:
            with closing(self._connect()) as connection:
                row = cast(
                    "tuple[str] | None",
                    connection.execute(
                        f"select verdict from {_TABLE} where question_sha256 = ? "  # noqa: S608
                        "and registry_digest = ? and fingerprint = ?",
                        key,
                    ).fetchone(),
                )
            return None if row is None else _verdict(json.loads(row[0]))
        except (sqlite3.Error, OSError, ValueError, TypeError, KeyError) as exc:
            logger.warning("the judge's cache cannot be read: %s", type(exc).__name__)
            return None

    def _keep(self, key: tuple[str, str, str], verdict: Verdict) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with closing(self._connect()) as connection:
                _insert(connection, key, verdict)
        except (sqlite3.Error, OSError) as exc:
            logger.warning("the judge's cache cannot be written: %s", type(exc).__name__)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=_BUSY_TIMEOUT_S)


def _insert(connection: sqlite3.Connection, key: tuple[str, str, str], verdict: Verdict) -> None:
    import sqlite_utils

    # Taken at once: two processes that both read first could neither go on.
    connection.execute("BEGIN IMMEDIATE")
    database = sqlite_utils.Database(connection, execute_plugins=False)
    table = database.table(_TABLE)
    table.create(
        {**dict.fromkeys(_KEY, str), "verdict": str, "kept_at": str},
        pk=_KEY,
        not_null={"verdict"},
        if_not_exists=True,
    )
    row = dict(zip(_KEY, key, strict=True))
    table.insert(
        {**row, "verdict": json.dumps(asdict(verdict)), "kept_at": _now(connection)}, ignore=True
    )
    connection.commit()


def _now(connection: sqlite3.Connection) -> str:
    return str(connection.execute("select datetime('now')").fetchone()[0])


def _key(question: str, registry: RegistryView, fingerprint: str) -> tuple[str, str, str]:
    digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()
    return digest, registry.digest, fingerprint


def _verdict(fields: dict[str, object]) -> Verdict:
    members = cast("list[dict[str, object]]", fields.pop("members"))
    flags = cast("list[str]", fields.pop("flags"))
    return Verdict(
        **cast("dict[str, str]", fields),  # pyright: ignore[reportArgumentType]  # our own record
        flags=tuple(flags),
        members=tuple(_verdict(member) for member in members),
    )
