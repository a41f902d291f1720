"""What the embedded judge costs beside the passes of its encoder.

Usage: python -m benchmarks.embedded_judge [PAIRS]

A question to a warm judge against one encoder pass over it, an evaluation against encoding its
texts once, one by one, and the judge's memory above a process that has imported a server. Over
pairs derived from the starter tasks, or over PAIRS and the tasks imported into `HIL_MCP_HOME`.
Ends with status 1 when a bound does not hold.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from hil_mcp.judge_evaluation import evaluate_judge, source_tasks
from hil_mcp.settings import load_settings
from judge.derived_pairs import derive_pairs
from judge.embedded import EmbeddedCore, EmbeddedJudge
from judge.embedded_registry import clean_example
from judge.embedder import Embedder
from judge.pairs import read_pairs
from judge.question_form import clauses
from task_store.starter_pack import StarterPack
from task_store.store import TaskStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from judge.pairs import Pair
    from judge.verdict import RegistryView

PASSES_AT_MOST = 3.0
"""A question's time, in encoder passes over it."""
EVALUATION_AT_MOST = 1.5
"""An evaluation's time, in that of encoding its texts once."""
MEMORY_AT_MOST_MB = 150
_QUESTIONS = 60
_REPEATS = 3
_MEMORY = """
import anyio
import hil_mcp.server, hil_mcp.serving, hil_mcp.tools.toolset
from pathlib import Path
from judge.embedded import EmbeddedJudge
from task_store.starter_pack import StarterPack

def resident():
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if "VmRSS" in line).split()[1])

task = StarterPack().tasks()[0]
before = resident()
judge = EmbeddedJudge()
anyio.run(judge.warm_up, task.registry)
anyio.run(judge.decide, "Which of the two ledgers decides?", task.registry)
print((resident() - before) / 1000)
"""


def question_in_passes(
    pairs: Sequence[Pair], registry_of: Callable[[str], RegistryView]
) -> list[float]:
    """Times to a verdict of a warm judge, in encoder passes over the question."""
    core = EmbeddedCore()
    judge = EmbeddedJudge(core)

    async def measure(pair: Pair) -> float:
        # An example of the registry, word for word, would need no encoder at all.
        question, registry = f"So: {pair.question}", registry_of(pair.task)
        await judge.warm_up(registry)
        passes, verdicts = [], []
        for _ in range(_REPEATS):
            started = time.perf_counter()
            core.embedder.encode([question])
            passes.append(time.perf_counter() - started)
            started = time.perf_counter()
            await judge.decide(question, registry)
            verdicts.append(time.perf_counter() - started)
        return min(verdicts) / min(passes)

    chosen = pairs[:: max(1, len(pairs) // _QUESTIONS)]
    return sorted(anyio.run(measure, pair) for pair in chosen)


def texts_of(pairs: Sequence[Pair], registry_of: Callable[[str], RegistryView]) -> list[str]:
    """What an evaluation of these pairs encodes, each text once."""
    texts: dict[str, None] = {}
    for pair in pairs:
        for blocker in registry_of(pair.task).blockers:
            texts |= dict.fromkeys((blocker.description, blocker.resolution))
            texts |= dict.fromkeys(map(clean_example, blocker.example_questions))
        texts |= dict.fromkeys((pair.question, *clauses(pair.question)))
    return list(texts)


def encoding_s(texts: Sequence[str]) -> float:
    embedder = Embedder()
    embedder.load()
    started = time.perf_counter()
    for text in texts:
        embedder.embed([text])
    return time.perf_counter() - started


def evaluation_s(pairs: Sequence[Pair], path: Path, store: TaskStore) -> float:
    settings = load_settings(judge="embedded")

    async def evaluate() -> None:
        await evaluate_judge(settings, pairs, path, store, repeat=1, on_answer=lambda: None)

    started = time.perf_counter()
    anyio.run(evaluate)
    return time.perf_counter() - started


def memory_mb() -> float:
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY], check=True, capture_output=True, text=True, timeout=300
    )
    return float(done.stdout)


def main() -> int:
    """Run the bench; the exit status."""
    store = TaskStore(load_settings().home)
    registry_of = cache(lambda task: store.get(task).registry)
    path = Path(sys.argv[1]) if sys.argv[1:] else Path("pairs of the starter tasks")
    pairs = read_pairs(path) if sys.argv[1:] else derive_pairs(source_tasks(StarterPack().tasks()))
    passes = question_in_passes(pairs, registry_of)
    median, most = statistics.median(passes), passes[int(len(passes) * 0.9)]
    texts = texts_of(pairs, registry_of)
    encoded_s = encoding_s(texts)
    whole_s = evaluation_s(pairs, path, store)
    taken_mb = memory_mb()
    print(f"a question costs {median:.2f} encoder passes, nine of ten below {most:.2f}")
    print(
        f"evaluating {len(pairs)} pairs costs {whole_s / encoded_s:.2f}x encoding its "
        f"{len(texts)} texts once ({whole_s:.1f} s, {encoded_s:.1f} s)"
    )
    print(f"a warm judge takes {taken_mb:.0f} MB above a server's imports")
    failures = [
        f"{name} {value:.2f}, above {limit:g}"
        for name, value, limit in (
            ("passes a question", median, PASSES_AT_MOST),
            ("an evaluation", whole_s / encoded_s, EVALUATION_AT_MOST),
            ("memory in MB", taken_mb, MEMORY_AT_MOST_MB),
        )
        if value > limit
    ]
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
