"""`hil-mcp judge eval`: measure a judge, show what came out, and keep it if asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.exit_status import ExitStatus, status_of, worst
from hil_mcp.cli.judge_inputs import refuse_an_input, registry_of_task
from hil_mcp.cli.judge_options import (
    JsonOption,
    JudgeOption,
    ModelOption,
    PolicyOption,
    PromptOption,
    UrlOption,
    judge_settings,
)
from hil_mcp.cli.output import print_json, remark
from hil_mcp.errors import ConfigError, HilMcpError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hil_mcp.judge_evaluation import Evaluation
    from hil_mcp.settings import Settings
    from judge.pairs import Pair


def evaluate(
    pairs: Annotated[Path, typer.Argument(help='Labelled pairs; see "hil-mcp judge pairs".')],
    *,
    judge: JudgeOption = None,
    url: UrlOption = None,
    model: ModelOption = None,
    policy: PolicyOption = None,
    prompt: PromptOption = None,
    labels: Annotated[
        Path | None, typer.Option(help="CSV of human labels that overrule the pairs' own.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Ask each question so often.")] = 1,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, help="Questions at the same time; 8 for a server by default."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Write precision against recall.")
    ] = None,
    store: Annotated[
        bool, typer.Option("--store", help="Keep the figures, to be shown with scores.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Measure a judge on labelled pairs: precision, recall, F1, and where it goes wrong."""
    from hil_mcp.judge_quality import quality_folder
    from judge.labels import read_labels, with_labels
    from judge.pairs import check_pairs, read_pairs
    from task_store.store import TaskStore

    settings = judge_settings(judge, url, model, policy, prompt)
    # Before the first question: an evaluation may take hours.
    if plot is not None:
        _check_plot(plot)
        refuse_an_input("--plot", plot, pairs, labels, prompt)
    if store:
        quality_folder(settings.home)
    rows = read_pairs(pairs)
    if labels is not None:
        rows = with_labels(rows, read_labels(labels))
    check_pairs(rows, registry_of_task(TaskStore(settings.home)))
    evaluation = _evaluate(settings, rows, pairs, repeat=repeat, concurrency=concurrency)
    statuses = [ExitStatus.JUDGE] if evaluation.figures.failed_answers else []
    errors = _keep(evaluation, settings.home if store else None, plot)
    _show(evaluation, as_json=as_json)
    for error in errors:
        remark(f"hil-mcp: {error}")
    return worst([*statuses, *map(status_of, errors)])


def _show(evaluation: Evaluation, *, as_json: bool) -> None:
    if as_json:
        from hil_mcp.judge_evaluation import evaluation_document

        print_json(evaluation_document(evaluation))
    else:
        from hil_mcp.cli.judge_tables import print_evaluation

        print_evaluation(evaluation)


def _keep(evaluation: Evaluation, home: Path | None, plot: Path | None) -> list[HilMcpError]:
    """Store and draw what was asked for; what failed is told after the figures are shown."""
    from hil_mcp.judge_quality import store_quality

    errors: list[HilMcpError] = []

    def attempt(step: Callable[[], None]) -> None:
        try:
            step()
        except HilMcpError as exc:
            errors.append(exc)

    if home is not None:
        attempt(lambda: remark(f"kept: {store_quality(home, evaluation)}"))
    if plot is not None:
        attempt(lambda: _write_plot(evaluation, plot))
    return errors


def _evaluate(
    settings: Settings, rows: Sequence[Pair], path: Path, *, repeat: int, concurrency: int | None
) -> Evaluation:
    """Ask everything, and show how far it is.

    Raises:
        KeyboardInterrupt: A signal came; there are no figures.
    """
    import anyio
    from rich.console import Console
    from rich.progress import Progress

    from hil_mcp.cli.end_signals import cancel_on_signal
    from hil_mcp.judge_evaluation import evaluate_judge
    from hil_mcp.task_errors import first_error
    from task_store.store import TaskStore

    total = len(rows) * repeat
    answers = 0
    evaluation: Evaluation | None = None
    errors = Console(stderr=True)
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
        asking = progress.add_task("asking", total=total)

        def note() -> None:
            nonlocal answers
            answers += 1
            progress.advance(asking)

        async def run() -> None:
            nonlocal evaluation
            with first_error():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancel_on_signal, tasks.cancel_scope, anyio.Event())
                    evaluation = await evaluate_judge(
                        settings,
                        rows,
                        path,
                        TaskStore(settings.home),
                        repeat=repeat,
                        concurrency=concurrency,
                        on_answer=note,
                    )
                    tasks.cancel_scope.cancel()

        anyio.run(run)
    if evaluation is None:
        remark(f"interrupted after {answers} of {total} answers: no figures, and nothing is kept")
        raise KeyboardInterrupt
    return evaluation


def _check_plot(path: Path) -> None:
    folder = path.parent
    if path.suffix.lower() != ".svg":
        raise ConfigError(f"--plot {path}: the plot is an SVG file: give a name that ends in .svg")
    if path.is_dir():
        raise ConfigError(f"--plot {path}: is a folder")
    if not folder.is_dir():
        raise ConfigError(f"--plot {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"--plot {path}: the folder {folder} cannot be written to")


def _write_plot(evaluation: Evaluation, path: Path) -> None:
    from hil_mcp.whole_file import write_whole
    from judge.plot import plot_svg

    fingerprint, figures = evaluation.fingerprint, evaluation.figures
    title = f"{fingerprint.backend} ({fingerprint.policy}) on {evaluation.pairs_path.name}"
    try:
        write_whole(path, plot_svg(title, figures.quality, figures.curve), mode=0o666)
    except OSError as exc:
        raise ConfigError(f"--plot {path}: cannot be written: {exc.strerror}") from exc
