"""`hil-mcp judge`: start a judge's server, see whether a judge is fit, measure it, make pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.judge_inputs import refuse_an_input, registry_of_task
from hil_mcp.cli.judge_serve import serve
from hil_mcp.cli.output import console, print_json, remark
from hil_mcp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil_mcp.judge_evaluation import Evaluation
    from hil_mcp.settings import Settings
    from judge.pairs import Pair

app = typer.Typer(help="Serve, check and measure the judge behind ask_human.", no_args_is_help=True)
app.command("serve")(serve)

JudgeOption = Annotated[
    str | None, typer.Option(help="embedded, vllm, vote:RULE:A+B; default as set, else embedded.")
]
UrlOption = Annotated[str | None, typer.Option(help="Address of the judge's server.")]
ModelOption = Annotated[str | None, typer.Option(help="Model to ask the server for.")]
PolicyOption = Annotated[str | None, typer.Option(help="release or meaning.")]
PromptOption = Annotated[Path | None, typer.Option(help="A prompt template of your own.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document.")]


@app.command("check")
def check(
    *,
    judge: JudgeOption = None,
    url: UrlOption = None,
    model: ModelOption = None,
    policy: PolicyOption = None,
    prompt: PromptOption = None,
    as_json: JsonOption = False,
) -> int:
    """Say in one screen whether a judge is fit for use; status 4 if it is not."""
    import anyio

    from hil_mcp.judge_check import check_judge

    settings = _settings(judge, url, model, policy, prompt)
    checked = anyio.run(check_judge, settings)
    if as_json:
        print_json(checked.document())
    else:
        from hil_mcp.cli.judge_tables import print_check

        print_check(checked)
    return ExitStatus.DONE if checked.problem is None else ExitStatus.JUDGE


@app.command("eval")
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
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Write precision against recall.")
    ] = None,
    store: Annotated[
        bool, typer.Option("--store", help="Keep the figures, to be shown with scores.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Measure a judge on labelled pairs: precision, recall, F1, and where it goes wrong."""
    from hil_mcp.judge_evaluation import evaluation_document
    from hil_mcp.judge_quality import store_quality
    from judge.labels import read_labels, with_labels
    from judge.pairs import check_pairs, read_pairs
    from task_store.store import TaskStore

    settings = _settings(judge, url, model, policy, prompt)
    if plot is not None:
        refuse_an_input("--plot", plot, pairs, labels, prompt)
    rows = read_pairs(pairs)
    if labels is not None:
        rows = with_labels(rows, read_labels(labels))
    check_pairs(rows, registry_of_task(TaskStore(settings.home)))
    evaluation = _evaluate(settings, rows, pairs, repeat=repeat)
    # Kept before it is shown: an evaluation may have taken hours.
    if store:
        remark(f"kept: {store_quality(settings.home, evaluation)}")
    if plot is not None:
        _write_plot(evaluation, plot)
    if as_json:
        print_json(evaluation_document(evaluation))
    else:
        from hil_mcp.cli.judge_tables import print_evaluation

        print_evaluation(evaluation)
    return ExitStatus.JUDGE if evaluation.figures.failed_answers else ExitStatus.DONE


@app.command("pairs")
def pairs(
    output: Annotated[Path, typer.Option("-o", "--output", help="File of pairs to write.")],
    *,
    task: Annotated[
        list[str] | None, typer.Option(help="Id of a task; may be given again. Default: all.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="CSV with task,question,expected: human labels, put over derived ones."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses the negatives.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Make labelled pairs from imported tasks, and put human labels over them."""
    from collections import Counter

    from hil_mcp.judge_evaluation import source_tasks
    from hil_mcp.settings import load_settings
    from judge.derived_pairs import KINDS, derive_pairs
    from judge.labels import read_labels, with_labels
    from judge.pairs import check_pairs, write_pairs
    from task_store.store import TaskStore

    if str(output) == "-":
        raise ConfigError("-o -: pairs go into a file, not to stdout: give its name")
    refuse_an_input("-o", output, labels)
    catalogue = TaskStore(load_settings().home)
    names = task or [summary.task_id for summary in catalogue.list()]
    chosen = {found.task_id: found for found in map(catalogue.get, names)}
    made = derive_pairs(source_tasks(list(chosen.values())), seed=seed)
    if labels is not None:
        said = read_labels(labels)
        check_pairs(said, registry_of_task(catalogue))
        made = with_labels(made, said)
    write_pairs(output, made)
    kinds = Counter(pair.kind for pair in made)
    if as_json:
        print_json({"pairs": str(output), "n": len(made), "kinds": dict(kinds)})
        return
    out = console()
    for kind, n in kinds.items():
        out.print(f"{n:>6}  {kind:<12} {KINDS.get(kind, 'labelled by hand')}", markup=False)
    out.print(f"{len(made):>6}  in {output}", markup=False)


def _settings(
    judge: str | None,
    url: str | None,
    model: str | None,
    policy: str | None,
    prompt: Path | None,
) -> Settings:
    from hil_mcp.settings import load_settings

    return load_settings(
        judge=judge,
        judge_url=url,
        judge_model=model,
        judge_policy=policy,
        judge_prompt_file=prompt,
    )


def _evaluate(settings: Settings, rows: Sequence[Pair], path: Path, *, repeat: int) -> Evaluation:
    import anyio
    from rich.console import Console
    from rich.progress import Progress

    from hil_mcp.judge_evaluation import evaluate_judge
    from task_store.store import TaskStore

    errors = Console(stderr=True)
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
        asking = progress.add_task("asking", total=len(rows) * repeat)

        async def run() -> Evaluation:
            return await evaluate_judge(
                settings,
                rows,
                path,
                TaskStore(settings.home),
                repeat=repeat,
                on_answer=lambda: progress.advance(asking),
            )

        return anyio.run(run)


def _write_plot(evaluation: Evaluation, path: Path) -> None:
    from judge.plot import plot_svg

    fingerprint, figures = evaluation.fingerprint, evaluation.figures
    title = f"{fingerprint.backend} ({fingerprint.policy}) on {evaluation.pairs_path.name}"
    try:
        path.write_text(plot_svg(title, figures.quality, figures.curve), encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"--plot {path}: cannot be written: {exc.strerror}") from exc
