"""`hil-mcp run`: an agent as it is sold, on many tasks, in several modes, measured."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.exit_status import ExitStatus, worst
from hil_mcp.cli.output import print_json, remark
from hil_mcp.counting import CountingRules
from hil_mcp.errors import ConfigError
from hil_mcp.modes import Mode
from hil_mcp.prompts import PromptStyle

if TYPE_CHECKING:
    from hil_mcp.runs.cell import IsolationKind
    from hil_mcp.runs.model_traffic import Price
    from hil_mcp.runs.start import RunOptions
    from hil_mcp.runs.summary import RunSummary
    from hil_mcp.settings import Settings

_DEFAULT_MODES = "baseline,full_info,ask_human"
_HOUR_S = 3600


def run(
    *,
    agent: Annotated[str, typer.Option(help="claude-code, codex, gemini, opencode or qwen-code.")],
    tasks: Annotated[str, typer.Option(help="Ids joined by commas, or all, sql, repository.")],
    judge: Annotated[str, typer.Option(help="embedded, vllm, vote:majority:A+B or replay:FILE.")],
    modes: Annotated[str, typer.Option(help="Modes joined by commas.")] = _DEFAULT_MODES,
    passes: Annotated[int, typer.Option(min=1, help="Repeats of each task and mode.")] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Attempts at a time.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The run's folder; default in HIL_MCP_HOME.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out; make what is missing.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="The agent's model; its own choice else.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Another model endpoint than the vendor's.")
    ] = None,
    login: Annotated[
        bool,
        typer.Option("--login", help="Use the login files of your home folder, not a key."),
    ] = False,
    program: Annotated[
        Path | None, typer.Option(help="The agent's program; found on PATH else.")
    ] = None,
    isolation: Annotated[
        str,
        typer.Option(help="bubblewrap, user:NAME (files only), or none (no measurement)."),
    ] = "bubblewrap",
    counting_rules: Annotated[
        CountingRules, typer.Option(help="How many answers a task gives.")
    ] = CountingRules.RELEASE_2,
    prompt: Annotated[
        PromptStyle, typer.Option(help="Our own words, or the released instruction.")
    ] = PromptStyle.OWN,
    instructions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Text to put before every statement.")
    ] = None,
    announce_tool: Annotated[
        bool, typer.Option("--announce-tool", help="Add one neutral line that names ask_human.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option(min=1, help="Longest attempt, in seconds.")
    ] = _HOUR_S,
    idle_limit: Annotated[
        float, typer.Option(min=1, help="Longest time without a sign of life, in seconds.")
    ] = 600,
    model_timeout: Annotated[
        float, typer.Option(min=1, help="Longest silence of the model's endpoint, in seconds.")
    ] = 300,
    max_turns: Annotated[int, typer.Option(min=1, help="Answers of the model.")] = 200,
    max_requests: Annotated[
        int, typer.Option(min=1, help="Requests to the model, repeated ones too.")
    ] = 1000,
    max_cost: Annotated[
        float | None, typer.Option(metavar="USD", help="Money for one attempt; needs --price.")
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="IN:OUT", help="USD for a million input and output tokens, as 3:15 or 3:15:0.3."
        ),
    ] = None,
    max_tries: Annotated[
        int, typer.Option(min=1, help="How often an attempt that the harness failed is made.")
    ] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> int:
    """Run an agent, unmodified, on tasks in several modes; grade, score and sum up.

    Each attempt has a home and a workspace of its own, a server of its own, and limits that are
    held from outside. One that the harness failed is tried again and never scored.
    """
    import anyio

    from clients.table import find_client
    from hil_mcp.prompts import read_choice
    from hil_mcp.runs.model_traffic import Limits
    from hil_mcp.runs.run_parts import RunLimits
    from hil_mcp.runs.start import RunOptions
    from hil_mcp.settings import load_settings

    settings = load_settings(judge=judge)
    kind, user = _isolation(isolation)
    options = RunOptions(
        client=find_client(agent),
        program=program,
        model=model,
        base_url=base_url,
        uses_login=login,
        user_home=Path.home(),
        tasks=_words(tasks, "--tasks"),
        modes=tuple(_mode(name) for name in _words(modes, "--modes")),
        n_passes=passes,
        n_workers=workers,
        out=_folder(out, settings, resume=resume),
        resume=resume,
        isolation=kind,
        isolation_user=user,
        counting_rules=counting_rules,
        prompt=read_choice(prompt, instructions, announce_tool=announce_tool),
        limits=RunLimits(
            time_limit_s=time_limit,
            idle_limit_s=idle_limit,
            model=Limits(
                max_turns=max_turns,
                max_requests=max_requests,
                max_cost_usd=max_cost,
                price=_price(price, max_cost),
            ),
            model_timeout_s=model_timeout,
        ),
    )
    has_given_up = anyio.run(_carry_out, options, settings, max_tries)
    return _conclude(options.out, as_json=as_json, has_given_up=has_given_up)


async def _carry_out(options: RunOptions, settings: Settings, max_tries: int) -> bool:
    """Make the attempts that are left; whether it gave up before their end.

    Raises:
        KeyboardInterrupt: A signal came; nothing is left running.
    """
    import anyio

    from hil_mcp.cli.end_signals import cancel_on_signal
    from hil_mcp.cli.run_progress import watching
    from hil_mcp.runs.runner import Runner
    from hil_mcp.runs.start import open_run
    from hil_mcp.task_errors import first_error

    interrupted = anyio.Event()
    has_given_up = False
    with first_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_on_signal, tasks.cancel_scope, interrupted)
            async with open_run(options, settings) as opened:
                plan = opened.record.plan
                remark(f"run {options.out}: {len(plan)} attempts")
                with watching(len(plan)) as watcher:
                    runner = Runner(plan, options.out, opened.parts, watcher, max_tries=max_tries)
                    await runner.run(n_workers=options.n_workers)
                has_given_up = runner.has_given_up
            tasks.cancel_scope.cancel()
    if interrupted.is_set():
        remark(f"the same command with --resume --out {options.out} goes on")
        raise KeyboardInterrupt
    return has_given_up


def _conclude(folder: Path, *, as_json: bool, has_given_up: bool) -> int:
    from hil_mcp.cli.run_tables import print_run, run_document
    from hil_mcp.runs.summary import summarise

    summary = summarise(folder)
    if as_json:
        print_json(run_document(summary, folder))
    else:
        print_run(summary, folder)
    for line in summary.collected.errors:
        remark(line)
    if has_given_up:
        remark(
            "ended early: too many attempts in a row failed through no fault of the agent; mend "
            f"what the lines above name, then the same command with --resume --out {folder} goes on"
        )
    return worst(_statuses(summary))


def _statuses(summary: RunSummary) -> list[ExitStatus]:
    statuses: list[ExitStatus] = []
    if summary.collected.errors:
        statuses.append(ExitStatus.DATA)
    if any(mode.n_not_graded for mode in summary.modes):
        statuses.append(ExitStatus.DATA)
    if not summary.is_complete:
        only_judge = {each.outcome for each in summary.left_out} == {"judge_error"}
        statuses.append(ExitStatus.JUDGE if only_judge else ExitStatus.PROGRAM)
    return statuses


def _words(text: str, option: str) -> tuple[str, ...]:
    words = tuple(word for part in text.split(",") if (word := part.strip()))
    if not words:
        raise ConfigError(f"{option}: names nothing")
    return tuple(dict.fromkeys(words))


def _mode(name: str) -> Mode:
    try:
        return Mode(name)
    except ValueError as exc:
        raise ConfigError(f"--modes: unknown mode {name!r}: {', '.join(Mode)}") from exc


def _isolation(text: str) -> tuple[IsolationKind, str | None]:
    name, _, user = text.partition(":")
    match name, bool(user):
        case ("bubblewrap" | "none") as kind, False:
            return kind, None
        case "user", True:
            return "user", user
        case _:
            raise ConfigError(f"--isolation {text}: none of bubblewrap, user:NAME, none")


def _folder(out: Path | None, settings: Settings, *, resume: bool) -> Path:
    if out is not None:
        return out.absolute()
    if resume:
        raise ConfigError("--resume needs --out, the folder of the run")
    now = datetime.now(UTC)
    return settings.home.absolute() / "runs" / f"{now:%Y%m%d-%H%M%S-%f}"


def _price(text: str | None, max_cost: float | None) -> Price | None:
    from hil_mcp.runs.model_traffic import Price

    if text is None:
        if max_cost is not None:
            raise ConfigError("--max-cost needs --price, USD for a million tokens, as 3:15")
        return None
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or any(not 0 <= number < math.inf for number in numbers):
        raise ConfigError(f"--price {text}: not IN:OUT or IN:OUT:CACHED in USD, such as 3:15:0.3")
    cached = numbers[2] if len(numbers) == 3 else None
    return Price(input_usd=numbers[0], output_usd=numbers[1], cached_input_usd=cached)
