"""Ask a judge every question of a file of pairs, as often as wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import anyio

from judge.errors import JudgeError
from judge.pairs import check_fit, shown_registry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from judge.pairs import Pair
    from judge.verdict import Judge, RegistryView, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One pair and what the judge said to it."""

    pair: Pair
    answers: Sequence[Verdict | JudgeError]
    """One for each time it was asked."""

    @property
    def verdict(self) -> Verdict | None:
        """The first answer, or None when the judge failed."""
        first = self.answers[0]
        return None if isinstance(first, JudgeError) else first

    @property
    def n_verdicts(self) -> int:
        """How often the judge did not fail."""
        return sum(not isinstance(answer, JudgeError) for answer in self.answers)

    @property
    def is_flipped(self) -> bool:
        """Whether the verdicts differ between the times it was asked; failures do not count."""
        seen = {answer.blocker_id for answer in self.answers if not isinstance(answer, JudgeError)}
        return len(seen) > 1


@runtime_checkable
class FittedJudge(Protocol):
    """A judge that was fitted to tasks and has parts that were not fitted to some of them."""

    def for_evaluation(self, task_id: str, registry: RegistryView) -> Judge:
        """A judge that was never fitted to this task; the judge itself for a task it never saw.

        Args:
            task_id: The task as the judge may have known it.
            registry: Its blockers, by which it is known under another id.
        """
        ...


JudgeOfTask = Callable[[str, "RegistryView"], "Judge"]
"""The judge for a task, by its id and its whole registry."""


def judge_of_task(judge: Judge) -> JudgeOfTask:
    """The judge for each task: for one that was fitted to tasks, a part that never saw the task."""
    if not isinstance(judge, FittedJudge):
        return lambda _id, _registry: judge
    parts: dict[tuple[str, str], Judge] = {}

    def part(task_id: str, registry: RegistryView) -> Judge:
        key = (task_id, registry.digest)
        if key not in parts:
            parts[key] = judge.for_evaluation(task_id, registry)
        return parts[key]

    return part


async def evaluate(
    judge_of: JudgeOfTask,
    pairs: Sequence[Pair],
    registry_of: Callable[[str], RegistryView],
    *,
    repeat: int = 1,
    concurrency: int = 8,
    on_answer: Callable[[], None] | None = None,
) -> tuple[Judged, ...]:
    """Ask every question `repeat` times.

    Args:
        judge_of: The judge for a task: one that was fitted to tasks may have a part for each task
            that never saw it.
        pairs: What to ask.
        registry_of: A task's registry.
        repeat: Times that each question is asked; all pairs are gone through before the next time.
        concurrency: Questions that are asked at the same time.
        on_answer: Called after each answer.

    Raises:
        PairsError: A pair names a blocker that its task has not.
    """
    shown = [
        (pair, judge_of(pair.task, registry), _registry(registry, pair))
        for pair in pairs
        for registry in [registry_of(pair.task)]
    ]
    answers: list[list[Verdict | JudgeError]] = [[] for _ in pairs]

    async def ask(place: int) -> None:
        pair, judge, registry = shown[place]
        try:
            answers[place].append(await judge.decide(pair.question, registry))
        except JudgeError as exc:
            answers[place].append(exc)
        if on_answer is not None:
            on_answer()

    for _ in range(repeat):
        await _share_out(len(pairs), ask, workers=concurrency)
    return tuple(
        Judged(pair=pair, answers=tuple(given))
        for (pair, _, _), given in zip(shown, answers, strict=True)
    )


async def _share_out(n: int, ask: Callable[[int], Awaitable[None]], *, workers: int) -> None:
    """Go through 0 to n - 1 in order with so many workers."""
    waiting = iter(range(n))

    async def work() -> None:
        for place in waiting:
            await ask(place)

    async with anyio.create_task_group() as asking:
        for _ in range(min(workers, n)):
            asking.start_soon(work)


def _registry(registry: RegistryView, pair: Pair) -> RegistryView:
    check_fit(pair, registry)
    return shown_registry(registry, pair)
