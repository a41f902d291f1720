"""`hil-mcp demo`: the whole loop on a bundled task, offline."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.output import print_json

if TYPE_CHECKING:
    from hil_mcp.demo import Step
    from hil_mcp.settings import Settings

_SHOWN_LINES = 6
_WIDTH = 96


def demo(
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Only the score, as one JSON document.")
    ] = False,
) -> int:
    """Play a scripted agent through a starter task, then grade and score it. Needs no network."""
    import anyio

    from hil_mcp.demo import TASK_ID, play
    from hil_mcp.session import new_session_id
    from hil_mcp.session_opening import LOG_NAME
    from hil_mcp.settings import load_settings
    from task_store.store import TaskStore

    settings = load_settings()
    home = settings.home
    log_path = home / "sessions" / f"demo-{new_session_id()}" / LOG_NAME
    if not as_json:
        print(f"The task, {TASK_ID}:\n")
        print(_indented(TaskStore(home).get(TASK_ID).statement))
    quiet = as_json
    anyio.run(
        lambda: play(
            log_path,
            home,
            on_step=(lambda _: None) if quiet else _show_step,
            on_reply=(lambda _: None) if quiet else _show_reply,
        )
    )
    return _grade_and_score(log_path, settings, as_json=as_json)


def _grade_and_score(log_path: Path, settings: Settings, *, as_json: bool) -> int:
    import anyio

    from hil_mcp.cli.grade import print_grades
    from hil_mcp.cli.score import score
    from hil_mcp.grade_paths import grade_log
    from hil_mcp.judge_quality import known_qualities
    from hil_mcp.sandbox.opening import sandbox_config
    from hil_mcp.score_document import judge_fingerprints, score_document
    from hil_mcp.score_paths import collect
    from task_store.store import TaskStore

    graded = anyio.run(grade_log, log_path, TaskStore(settings.home), sandbox_config(settings))
    if graded.error is not None:
        raise graded.error
    if as_json:
        grade = graded.grade.model_dump(mode="json") if graded.grade else None
        collected = collect([log_path])
        known = known_qualities(settings.home, judge_fingerprints(collected))
        document = score_document(collected, known.by_fingerprint)
        print_json({**document, "grade": grade, "log": str(log_path)})
        return 0
    print("\nThe grade, by the released check (compat) and strictly:\n")
    print_grades([graded])
    print("\nThe score:\n")
    status = score([log_path])
    print(f"\nThe session log: {log_path}")
    return status


def _show_step(step: Step) -> None:
    ((name, value), *more) = step.arguments.items()
    shown = value if not more else ", ".join(step.arguments.values())
    print(f"\nThe agent {step.why}.")
    first, *rest = shown.splitlines()
    print(f"  > {step.tool}({name}: {first}{' ...' if rest else ''})")


def _show_reply(text: str) -> None:
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, _WIDTH - 4) or [""]]
    for line in lines[:_SHOWN_LINES]:
        print(f"  < {line}")
    if len(lines) > _SHOWN_LINES:
        print(f"  < ... and {len(lines) - _SHOWN_LINES} more lines")


def _indented(text: str) -> str:
    return textwrap.indent(textwrap.fill(text.strip(), _WIDTH - 2), "  ")
