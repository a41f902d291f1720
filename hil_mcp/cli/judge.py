"""`hil-mcp judge`: start a judge's server, see whether a judge is fit, measure it, make pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.judge_eval import evaluate
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
from hil_mcp.cli.judge_serve import serve
from hil_mcp.cli.output import console, print_json, remark
from hil_mcp.errors import ConfigError

app = typer.Typer(help="Serve, check and measure the judge behind ask_human.", no_args_is_help=True)
app.command("serve")(serve)
app.command("eval")(evaluate)


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

    settings = judge_settings(judge, url, model, policy, prompt)
    checked = anyio.run(check_judge, settings)
    if as_json:
        print_json(checked.document())
    else:
        from hil_mcp.cli.judge_tables import print_check

        print_check(checked)
    for warning in checked.warnings:
        remark(warning)
    return ExitStatus.DONE if checked.problem is None else ExitStatus.JUDGE


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
