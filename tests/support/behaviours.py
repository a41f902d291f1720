"""What the scripted model of a whole run does: two tasks, three modes, two passes, twelve ways.

The numbers that a run of it must come to are worked out by hand in `EXPECTED`.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.modes import Mode
from task_store.records import SqlEnvironment, SqlGold
from tests.support.scripted_model import Call, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from task_store.records import Task
    from task_store.store import TaskStore
    from tests.support.scripted_model import Fault, ModelRequest

TASKS = ("lockers_late", "vet_boosters")
MODES = (Mode.BASELINE, Mode.FULL_INFO, Mode.ASK_HUMAN)
N_PASSES = 2
_VAGUE = "Could you tell me more about this task?"
_WRONG = Call("submit_sql", {"query": "SELECT 1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeNumbers:
    """What one mode comes to: of 4 attempts each."""

    resolved: int
    outcomes: dict[str, int]
    q: int = 0
    d: int = 0


class TwelveWays:
    """A behaviour that gives each attempt its own script, whichever agent asks."""

    def __init__(self, store: TaskStore, crash: Callable[[], Turn]) -> None:
        """Prepare.

        Args:
            store: Where the two tasks are.
            crash: The turn that makes the agent kill itself.
        """
        self._tasks = [store.get(name) for name in TASKS]
        self._crash = crash
        self._begun: Counter[tuple[str, Mode]] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: ModelRequest) -> Turn | Fault:
        task = next(task for task in self._tasks if task.statement.strip()[:60] in request.said)
        mode = _mode(request)
        with self._lock:
            # Passes follow one another, so a first turn begins the next one.
            self._begun[task.task_id, mode] += request.turn == 0
            number = self._begun[task.task_id, mode]
        turns = self._script(task, mode, number)
        return turns[request.turn] if request.turn < len(turns) else Turn(text="done")

    def _script(self, task: Task, mode: Mode, number: int) -> list[Turn]:
        right = Call("submit_sql", {"query": _gold(task)})
        examples = [blocker.example_questions[0] for blocker in task.registry.blockers]
        look = Call("get_database_info", {"database_name": _database(task)})
        tables = Call("execute_sql", {"query": "SELECT name FROM sqlite_master"})
        scripts: dict[tuple[str, Mode, int], list[Turn]] = {
            # submits nothing; kills itself after it has submitted
            (TASKS[0], Mode.BASELINE, 1): [Turn(calls=(look,))],
            (TASKS[0], Mode.BASELINE, 2): [Turn(calls=(right,)), self._crash()],
            # answers right, at once and after calls in parallel
            (TASKS[0], Mode.FULL_INFO, 1): [Turn(calls=(right,))],
            (TASKS[0], Mode.FULL_INFO, 2): [Turn(calls=(look, tables)), Turn(calls=(right,))],
            # asks well, one question a blocker; never asks
            (TASKS[0], Mode.ASK_HUMAN, 1): [
                *(Turn(calls=(_ask(question),)) for question in examples),
                Turn(calls=(right,)),
            ],
            (TASKS[0], Mode.ASK_HUMAN, 2): [Turn(calls=(look,)), Turn(calls=(_WRONG,))],
            # guesses wrong; guesses right
            (TASKS[1], Mode.BASELINE, 1): [Turn(calls=(_WRONG,))],
            (TASKS[1], Mode.BASELINE, 2): [Turn(calls=(_WRONG,)), Turn(calls=(right,))],
            # the last submission counts; an error in between
            (TASKS[1], Mode.FULL_INFO, 1): [Turn(calls=(right,)), Turn(calls=(_WRONG,))],
            (TASKS[1], Mode.FULL_INFO, 2): [
                Turn(calls=(Call("execute_sql", {"query": "SELECT nothing FROM nowhere"}),)),
                Turn(calls=(right,)),
            ],
            # floods: nine vague questions and three times the same good one; asks in parallel.
            # No two vague ones are equal: one agent ends a run that repeats itself.
            (TASKS[1], Mode.ASK_HUMAN, 1): [
                *(Turn(calls=(_ask(f"{_VAGUE} ({number})"),)) for number in range(9)),
                *(Turn(calls=(_ask(examples[0]),)) for _ in range(3)),
                Turn(calls=(_WRONG,)),
            ],
            (TASKS[1], Mode.ASK_HUMAN, 2): [
                Turn(calls=tuple(map(_ask, (examples[0], _VAGUE, examples[1], _VAGUE)))),
                Turn(calls=(right,)),
            ],
        }
        return scripts[task.task_id, mode, number]


def expected(n_blockers: int) -> dict[Mode, ModeNumbers]:
    """By hand, from the scripts above.

    Args:
        n_blockers: Of the first task, whose blockers are all asked for.
    """
    return {
        Mode.BASELINE: ModeNumbers(
            resolved=1, outcomes={"no_submission": 1, "agent_killed": 1, "finished": 2}
        ),
        Mode.FULL_INFO: ModeNumbers(resolved=3, outcomes={"finished": 4}),
        # q: one a blocker, none, 9 + 3, 4; d: all, none, 1, 2
        Mode.ASK_HUMAN: ModeNumbers(
            resolved=2,
            outcomes={"finished": 4},
            q=n_blockers + 0 + 12 + 4,
            d=n_blockers + 0 + 1 + 2,
        ),
    }


def _ask(question: str) -> Call:
    return Call("ask_human", {"question": question})


def _mode(request: ModelRequest) -> Mode:
    if request.offers("ask_human"):
        return Mode.ASK_HUMAN
    return Mode.FULL_INFO if "Additional information:" in request.said else Mode.BASELINE


def _gold(task: Task) -> str:
    assert isinstance(task.gold, SqlGold)
    assert task.gold.query is not None
    return task.gold.query


def _database(task: Task) -> str:
    assert isinstance(task.environment, SqlEnvironment)
    return task.environment.database_name
