"""The answer check against the released algorithm: same verdicts, how much faster, how it grows.

`python benchmarks/sql_compare.py` makes an environment with pandas under `.cache/` at its first
run, prints a table, and ends with status 1 when a bound does not hold. Times are processor time.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil_mcp.sql.compare_compat import compare_compat
from hil_mcp.sql.outcome import ResultSet

PANDAS = "pandas==3.0.1"
"""What the release grades with (docs/release.md, section 0)."""
SIZES = (200, 1_000, 5_000)
SPEEDUP_AT_LEAST = 50.0
"""At the largest size."""
GROWTH_AT_MOST = 1.3
"""Exponent of the time over the rows, from the smallest size to the largest; 1 is linear."""
REPEATS = 5

_CACHE = Path(__file__).resolve().parents[1] / ".cache" / "bench-pandas"
_CHECK = Path(__file__).with_name("sql_released_check.py")

Table = dict[str, list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two results, and what the pair is meant to be."""

    label: str
    n_rows: int
    gold: Table
    prediction: Table
    is_timed: bool = False

    def ours(self) -> tuple[bool, float]:
        """Our verdict, and the least processor time of several goes, in seconds."""
        gold, prediction = _result(self.gold), _result(self.prediction)
        times: list[float] = []
        verdict = False
        for _ in range(REPEATS):
            started = time.process_time()
            verdict = compare_compat(gold, prediction).is_equal
            times.append(time.process_time() - started)
        return verdict, min(times)


def timed_pair(n_rows: int) -> Pair:
    """The gold's rows in reverse, with one column more: the greedy search at its slowest."""
    numbers = random.Random(n_rows)
    rows = [
        [index, f"name {index % 97}", round(numbers.uniform(0, 1000), 3), numbers.randrange(20)]
        for index in range(n_rows)
    ]
    return Pair(
        label="reversed, one column more",
        n_rows=n_rows,
        gold={"columns": ["id", "name", "score", "level"], "rows": rows},
        prediction={
            "columns": ["id", "name", "score", "level", "more"],
            "rows": [[*row, f"note {place}"] for place, row in enumerate(reversed(rows))],
        },
        is_timed=True,
    )


def verdict_pairs(seed: int) -> list[Pair]:
    """Pairs of 200 rows and more, right and wrong in one cell, with few values so that rows tie."""
    numbers = random.Random(seed)
    n_rows = numbers.choice([200, 250, 300])
    values: list[Any] = [None, 0, 1, 2.004, 2.006, "a", "A", "01", "1", 7, 0.015, "nan", ""]
    rows = [[numbers.choice(values) for _ in range(3)] for _ in range(n_rows)]
    shuffled = [numbers.sample(row, 3) for row in numbers.sample(rows, n_rows)]
    changed = [list(row) for row in shuffled]
    changed[numbers.randrange(n_rows)][0] = "other"
    wide = [[*row, numbers.choice(values)] for row in shuffled]
    wide_changed = [[*row, numbers.choice(values)] for row in changed]
    candidates = {
        "shuffled": shuffled,
        "one cell changed": changed,
        "wide": wide,
        "wide, one cell changed": wide_changed,
        "a row twice": [*rows, rows[0]],
    }
    names = ["a", "b", "c", "d"]
    return [
        Pair(
            label=label,
            n_rows=n_rows,
            gold={"columns": names[:3], "rows": rows},
            prediction={"columns": names[: len(other[0])], "rows": other},
        )
        for label, other in candidates.items()
    ]


def main() -> int:
    """Run the bench; the exit status."""
    timed = [timed_pair(n_rows) for n_rows in SIZES]
    pairs = [*timed, *(pair for seed in range(12) for pair in verdict_pairs(seed))]
    released = _released(pairs)
    failures: list[str] = []
    ours_s: list[float] = []
    n_right = 0
    print(f"{'rows':>6}  {'released':>10}  {'ours':>10}  {'faster':>8}  verdict")
    for pair, answer in zip(pairs, released, strict=True):
        verdict, cpu_s = pair.ours()
        n_right += verdict
        if verdict != answer["verdict"]:
            failures.append(f"{pair.n_rows} rows, {pair.label}: the verdicts differ")
        if pair.is_timed:
            ours_s.append(cpu_s)
            ratio = answer["cpu_s"] / cpu_s
            times = f"{answer['cpu_s']:>9.3f}s  {cpu_s:>9.4f}s  {ratio:>7.0f}x"
            print(f"{pair.n_rows:>6}  {times}  {'right' if verdict else 'wrong'}")
            if pair.n_rows == SIZES[-1] and ratio < SPEEDUP_AT_LEAST:
                failures.append(f"{ratio:.0f}x at {pair.n_rows} rows, below {SPEEDUP_AT_LEAST:g}x")
    growth = math.log(ours_s[-1] / ours_s[0]) / math.log(SIZES[-1] / SIZES[0])
    print(f"growth: rows^{growth:.2f} from {SIZES[0]} to {SIZES[-1]} rows")
    print(f"verdicts compared: {len(pairs)} pairs, {n_right} of them right")
    if growth > GROWTH_AT_MOST:
        failures.append(f"time grows as rows^{growth:.2f}, above {GROWTH_AT_MOST}")
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _released(pairs: list[Pair]) -> list[dict[str, Any]]:
    python = _python_with_pandas()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.json"
        path.write_text(
            json.dumps([{"gold": p.gold, "prediction": p.prediction} for p in pairs]),
            encoding="utf-8",
        )
        done = subprocess.run(
            [python, _CHECK, path], check=True, capture_output=True, text=True, timeout=1200
        )
    return json.loads(done.stdout)["answers"]


def _python_with_pandas() -> Path:
    python = _CACHE / "bin" / "python"
    stamp = _CACHE / PANDAS
    if not stamp.exists():
        venv.create(_CACHE, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PANDAS], check=True)
        stamp.touch()
    return python


def _result(table: Table) -> ResultSet:
    return ResultSet(
        columns=tuple(table["columns"]), rows=tuple(tuple(row) for row in table["rows"])
    )


if __name__ == "__main__":
    sys.exit(main())
