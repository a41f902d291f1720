"""The options that name a judge, for the commands that check and measure one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
        ConfigError: A setting does not fit.
    """
    from hil_mcp.settings import load_settings

    return load_settings(
        judge=judge,
        judge_url=url,
        judge_model=model,
        judge_policy=policy,
        judge_prompt_file=prompt,
    )
