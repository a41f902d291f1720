"""`hil-mcp serve`: one task in one mode for one agent."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.output import print_json, remark
from hil_mcp.counting import CountingRules
from hil_mcp.errors import ConfigError
from hil_mcp.modes import Mode

if TYPE_CHECKING:
    from hil_mcp.settings import Settings
    from task_store.records import Task


class SandboxChoice(StrEnum):
    """The sandboxes of `hil_mcp.sandbox.sandbox`."""

    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"
    LOCAL = "local"


def serve(
    task: Annotated[str, typer.Option(help='Id of the task; see "hil-mcp tasks list".')],
    mode: Annotated[Mode, typer.Option(help="What the agent gets.")] = Mode.ASK_HUMAN,
    *,
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve over HTTP, not stdio; port 0: a free one."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the bearer token; else HIL_MCP_TOKEN. HTTP only."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(help="embedded, vllm, vote:majority:A+B, replay:FILE; default embedded."),
    ] = None,
    counting_rules: Annotated[
        CountingRules, typer.Option(help="How many answers the task gives.")
    ] = CountingRules.RELEASE_2,
    sandbox: Annotated[
        SandboxChoice | None,
        typer.Option(
            help="Where a repository's commands run; default docker for images and bubblewrap "
            "for source trees. local protects nothing."
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="The session log; default a folder of its own in HIL_MCP_HOME."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="HTTP only: print address and log as one JSON document.")
    ] = False,
    allow_empty: Annotated[bool, typer.Option(help="Serve a task without any blocker.")] = False,
) -> None:
    """Serve one task to one agent over stdio, or over HTTP with a bearer token."""
    from hil_mcp.settings import load_settings

    settings = load_settings(judge=judge, sandbox=sandbox.value if sandbox else None)
    found = _find(task, settings, mode=mode, allow_empty=allow_empty)
    if http is None and (token_file is not None or as_json):
        raise ConfigError("--token-file and --json are for HTTP sessions: pass --http too")
    token = _token(token_file, settings) if http is not None else None

    from hil_mcp.serve_session import serve_task

    serve_task(
        found,
        mode,
        settings,
        counting_rules=counting_rules,
        log_path=log,
        http=http,
        token=token,
        remark=remark,
        on_serving=_announce_as_json if as_json else _announce,
    )


def _announce(url: str, log: Path) -> None:
    remark(f"serving {url}\nlog {log}")


def _announce_as_json(url: str, log: Path) -> None:
    print_json({"url": url, "log": str(log)})


def _find(task_id: str, settings: Settings, *, mode: Mode, allow_empty: bool) -> Task:
    from task_store.store import TaskStore

    task = TaskStore(settings.home).get(task_id)
    if not task.registry.blockers and mode.can_ask and not allow_empty:
        raise ConfigError(
            f"task {task.task_id}: no blocker was loaded, so no question can be answered; "
            "pass --allow-empty to serve it all the same"
        )
    return task


def _token(token_file: Path | None, settings: Settings) -> str:
    if token_file is not None:
        try:
            token = token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"--token-file {token_file}: cannot be read: {exc}") from exc
        if not token:
            raise ConfigError(f"--token-file {token_file}: is empty")
        return token
    if settings.token is not None and settings.token.get_secret_value():
        return settings.token.get_secret_value()
    raise ConfigError("--http needs a token: pass --token-file or set HIL_MCP_TOKEN")
