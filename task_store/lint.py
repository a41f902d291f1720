"""What is wrong or odd with a task, in words. No finding holds a resolution or a key value."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from task_store.records import RepositoryGold, SqlEnvironment, SqlGold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from task_store.records import Blocker, Task

Severity = Literal["error", "warning"]

# What the judge's rules ask of a question (docs/release.md, section 3, rules 1 and 2).
_ASKING = re.compile(
    r"\b(what|why|how|where|when|which|define|explain|describe|differentiate|clarify|specify)\b",
    re.IGNORECASE,
)
# Values that somebody must know: quoted codes and numbers that are not a mere digit. A quoted
# phrase is as a rule the very term that the statement leaves open.
_KEY_VALUE = re.compile(
    r"'(?P<single>[^'\s]{2,60})'|\"(?P<double>[^\"\s]{2,60})\""
    r"|(?P<number>(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w))"
)
_CODE = re.compile(r"`[^`\n]*`|```.*?```", re.DOTALL)
_SYNTAX_TROUBLE = ("syntax error", "unrecognized token", "incomplete input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One remark on a task.

    Attributes:
        severity: `error` where the task cannot be graded or answered, else `warning`.
        message: One clause without a final full stop.
    """

    severity: Severity
    message: str


def lint_task(task: Task) -> list[Finding]:
    """Everything that is wrong or odd, errors first."""
    found = [
        *(_warning(text) for text in task.warnings),
        *_lint_registry(task),
        *_lint_gold(task),
        *_lint_environment(task),
    ]
    return sorted(found, key=lambda finding: finding.severity)


def key_values(text: str) -> set[str]:
    """The values in a resolution that must not stand in anything an agent can see.

    Quoted codes and numbers of two digits or more; code in back-ticks is left out, since it names
    what the task is about.
    """
    found: set[str] = set()
    for match in _KEY_VALUE.finditer(_CODE.sub(" ", text)):
        number = match["number"]
        if number is None:
            found.add(match["single"] or match["double"])
        elif len(number) > 1:
            found.add(number)
    return found


def _error(message: str) -> Finding:
    return Finding(severity="error", message=message)


def _warning(message: str) -> Finding:
    return Finding(severity="warning", message=message)


def _lint_registry(task: Task) -> Iterator[Finding]:
    visible = task.statement
    if isinstance(task.environment, SqlEnvironment):
        visible += "\n" + "\n".join(task.environment.business_info)
    for number, blocker in enumerate(task.registry.blockers):
        place = f"blockers[{number}]"
        yield from _lint_examples(blocker, place)
        if blocker.category is None:
            yield _warning(f"{place}: neither its type nor its subtype tells its category")
        # What the description says too names the gap and does not close it.
        values = {
            value
            for value in key_values(blocker.resolution)
            if not _stands_in(value, blocker.description)
        }
        seen = sum(1 for value in values if _stands_in(value, visible))
        if seen:
            yield _warning(
                f"{place}: {seen} of {len(values)} key values of its resolution can be seen "
                "in the statement or the business rules"
            )


def _lint_examples(blocker: Blocker, place: str) -> Iterator[Finding]:
    questions = blocker.example_questions
    if not questions:
        yield _warning(f"{place}: has no example questions")
    folded = Counter(" ".join(question.casefold().split()) for question in questions)
    if any(count > 1 for count in folded.values()):
        yield _warning(f"{place}: an example question stands there twice")
    for what, count in (
        ("have no word that asks", sum(not _ASKING.search(q) for q in questions)),
        ("do not end in a question mark", sum(not q.rstrip().endswith("?") for q in questions)),
        ("ask more than one question", sum(q.count("?") > 1 for q in questions)),
        ("start with a quotation mark", sum(q.startswith(('"', "'")) for q in questions)),
    ):
        if count:
            yield _warning(
                f"{place}: {count} of {len(questions)} example questions {what}, "
                "so the judge's rules refuse them as they stand"
            )


def _lint_gold(task: Task) -> Iterator[Finding]:
    match task.gold:
        case SqlGold(query=None):
            yield _error("there is no hidden answer: the task cannot be graded")
        case SqlGold(query=str(query)):
            trouble = sql_trouble(query)
            if trouble:
                yield _error(f"the hidden answer does not parse as one SQLite query: {trouble}")
        case RepositoryGold() as gold:
            if not gold.fail_to_pass:
                yield _error("no test has to pass: the task cannot be graded")
            if gold.patch is None:
                yield _warning("there is no hidden answer, so the grading cannot be tried out")
            for name, patch in (("hidden answer", gold.patch), ("test patch", gold.test_patch)):
                if patch and not re.search(r"^(diff --git |--- )", patch, re.MULTILINE):
                    yield _error(f"the {name} is not a patch")
        case _:
            pass


def sql_trouble(query: str) -> str | None:
    """Why SQLite cannot read `query` as one statement; None if it can.

    Tables are not looked up, so no database is needed.
    """
    with closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute(f"EXPLAIN {query}")
        except (sqlite3.Warning, sqlite3.ProgrammingError) as exc:
            return str(exc).rstrip(".").lower()
        except sqlite3.Error as exc:
            # Anything else, such as an unknown table, is found after parsing.
            text = str(exc)
            return text if any(word in text for word in _SYNTAX_TROUBLE) else None
    return None


def _lint_environment(task: Task) -> Iterator[Finding]:
    missing = [artefact for artefact in task.artefacts if artefact.is_missing]
    if missing:
        names = ", ".join(artefact.name for artefact in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        yield _warning(
            f'not on this machine: {names}{more}; "hil-mcp tasks fetch {task.task_id}" fetches them'
        )
    if not isinstance(task.environment, SqlEnvironment):
        return
    if not task.environment.business_info:
        yield _warning("there are no business rules")
    if len(set(task.environment.business_info)) < len(task.environment.business_info):
        yield _warning("a business rule stands there twice")
    if not any(a.name == "table_descriptions.csv" for a in task.environment.descriptions):
        yield _warning("there is no table_descriptions.csv: the agent cannot list the tables")


def _stands_in(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None
