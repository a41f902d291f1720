"""The options that name a judge, for the commands that check and measure one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.errors import ConfigError

if TYPE_CHECKING:
    from hil_mcp.settings import Settings

JudgeOption = Annotated[
    str | None, typer.Option(help="embedded, vllm, vote:RULE:A+B; default as set, else embedded.")
]
UrlOption = Annotated[str | None, typer.Option(help="Address of the judge's server.")]
ModelOption = Annotated[str | None, typer.Option(help="Model to ask the server for.")]
PolicyOption = Annotated[str | None, typer.Option(help="release or meaning.")]
PromptOption = Annotated[Path | None, typer.Option(help="A prompt template of your own.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document.")]


def judge_settings(
    judge: str | None,
    url: str | None,
    model: str | None,
    policy: str | None,
    prompt: Path | None,
) -> Settings:
    """The settings with what the command line says of the judge.

    Raises:
        ConfigError: A setting does not fit, or an option would do nothing.
        JudgeUsageError: A member of a vote has a setting that is none.
    """
    from hil_mcp.settings import load_settings
    from judge.build import urls_of

    settings = load_settings(
        judge=judge,
        judge_url=url,
        judge_model=model,
        judge_policy=policy,
        judge_prompt_file=prompt,
    )
    options = {"--url": url, "--model": model, "--policy": policy, "--prompt": prompt}
    given = [name for name, value in options.items() if value is not None]
    if given and not urls_of(settings.judge, settings.judge_url):
        raise ConfigError(
            f"{given[0]}: the judge {settings.judge!r} has no use for it: it needs --judge vllm"
        )
    if policy is None:
        return settings
    if prompt is not None:
        raise ConfigError("--policy and --prompt: give one of them, a prompt replaces the policy's")
    # A flag goes before a variable: a prompt that is set there would replace the policy's again.
    return settings.model_copy(update={"judge_prompt_file": None})
