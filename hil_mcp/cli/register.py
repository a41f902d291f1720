"""`hil-mcp register` and `unregister`: one server for one task in an agent's configuration."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.output import print_json, remark
from hil_mcp.errors import ConfigError
from hil_mcp.modes import Mode
from hil_mcp.settings import TOKEN_VARIABLE

if TYPE_CHECKING:
    from clients.client import Places, Server
    from clients.config_file import Change
    from hil_mcp.settings import Settings


class ScopeChoice(StrEnum):
    """Whose configuration is edited."""

    USER = "user"
    PROJECT = "project"


_CLIENT = typer.Argument(
    help="claude-code, codex, cursor, gemini, opencode, qwen-code, vscode, copilot or "
    "claude-desktop.",
    show_default=False,
)
_SCOPE = typer.Option(help="The user's own configuration, or this folder's.")
_DRY_RUN = typer.Option("--dry-run", help="Print the change and make none.")
_AS_JSON = typer.Option("--json", help="One JSON document.")


def register(
    client: Annotated[str, _CLIENT],
    *,
    task: Annotated[
        str | None, typer.Option(help='Id of the task; see "hil-mcp tasks list".')
    ] = None,
    mode: Annotated[Mode, typer.Option(help="What the agent gets.")] = Mode.ASK_HUMAN,
    judge: Annotated[
        str | None, typer.Option(help="Judge of the server; its default else.")
    ] = None,
    scope: Annotated[ScopeChoice, _SCOPE] = ScopeChoice.USER,
    http: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A server that runs already, instead of one to start."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="The file with that server's bearer token.")
    ] = None,
    in_container: Annotated[
        bool,
        typer.Option(
            help="Print how to run the agent in the task's container, and change nothing."
        ),
    ] = False,
    dry_run: Annotated[bool, _DRY_RUN] = False,
    as_json: Annotated[bool, _AS_JSON] = False,
) -> None:
    """Put the server of one task into an agent's configuration; the file's other content stays."""
    from clients.client import SERVER_NAME
    from clients.config_file import ConfigFiles
    from clients.table import find_client
    from hil_mcp.settings import load_settings

    settings = load_settings()
    found = find_client(client)
    if in_container:
        _print_commands(client, task, mode, http, settings, as_json=as_json)
        return
    server = _server(task, mode, judge, http, token_file, settings)
    files = ConfigFiles(settings.home / "registered")
    target = found.registration.target(scope.value, _places())
    change = files.plan_server(target, SERVER_NAME, found.registration.entry(server))
    steps = found.registration.next_steps(scope.value)
    if http is not None:
        shown = "the server's token"
        if token_file is not None:
            shown = f"$(cat {shlex.quote(str(token_file.absolute()))})"
        steps = (f'export {TOKEN_VARIABLE}="{shown}"    before the agent starts', *steps)
    record = None if dry_run else files.write_server(change)
    if as_json:
        kept = None if record is None else str(record)
        print_json({**_document(client, change, dry_run=dry_run), "kept": kept, "next": steps})
        return
    if dry_run:
        print(change.diff(), end="")
        return
    print(f"{change.path}: {'nothing to change' if change.is_nothing else 'written'}")
    remark(f"the file as it was is kept in {record}")
    print("next:")
    for step in steps:
        print(f"  {step}")


def _print_commands(
    client: str,
    task: str | None,
    mode: Mode,
    http: str | None,
    settings: Settings,
    *,
    as_json: bool,
) -> None:
    from clients.client import SERVER_NAME
    from clients.table import find_client
    from hil_mcp.in_container import DEFAULT_URL, commands_for
    from task_store.records import TaskKind
    from task_store.store import TaskStore

    if task is None:
        raise ConfigError('--task is missing; see "hil-mcp tasks list"')
    if TaskStore(settings.home).get(task).kind is not TaskKind.REPOSITORY:
        raise ConfigError(f"--in-container: {task} has no container; it is for repository tasks")
    commands = commands_for(
        find_client(client), SERVER_NAME, task=task, mode=mode, url=http or DEFAULT_URL
    )
    if as_json:
        print_json({"client": client, "commands": commands})
        return
    print("\n".join(commands))


def unregister(
    client: Annotated[str, _CLIENT],
    *,
    scope: Annotated[ScopeChoice, _SCOPE] = ScopeChoice.USER,
    dry_run: Annotated[bool, _DRY_RUN] = False,
    as_json: Annotated[bool, _AS_JSON] = False,
) -> None:
    """Take the server out of an agent's configuration again."""
    from clients.client import SERVER_NAME
    from clients.config_file import ConfigFiles
    from clients.table import find_client
    from hil_mcp.settings import load_settings

    found = find_client(client)
    files = ConfigFiles(load_settings().home / "registered")
    target = found.registration.target(scope.value, _places())
    change = files.plan_removal(target, SERVER_NAME)
    if not dry_run:
        files.write_removal(change)
    if as_json:
        print_json(_document(client, change, dry_run=dry_run))
    elif dry_run:
        print(change.diff(), end="")
    elif change.is_nothing:
        print(f'{change.path}: has no server "{SERVER_NAME}"')
    else:
        print(f"{change.path}: {'removed' if change.after is None else 'as it was'}")


def _server(
    task: str | None,
    mode: Mode,
    judge: str | None,
    http: str | None,
    token_file: Path | None,
    settings: Settings,
) -> Server:
    from clients.client import HttpServer, StdioServer

    if http is not None:
        if task is not None or judge is not None:
            raise ConfigError("--http: the task and the judge are those of the running server")
        if not http.startswith(("http://", "https://")):
            raise ConfigError(f"--http {http}: an address such as http://127.0.0.1:8765/mcp")
        return HttpServer(url=http, token_variable=TOKEN_VARIABLE)
    if task is None:
        raise ConfigError('--task is missing; see "hil-mcp tasks list"')
    if token_file is not None:
        raise ConfigError("--token-file is for --http")
    _check_task(task, settings)
    judge_option = () if judge is None else ("--judge", judge)
    return StdioServer(
        command=sys.executable,
        args=("-m", "hil_mcp", "serve", "--task", task, "--mode", mode.value, *judge_option),
        # Always: some agents pass on nothing that the default would be found by.
        env={"HIL_MCP_HOME": str(settings.home.absolute())},
    )


def _check_task(task: str, settings: Settings) -> None:
    from task_store.store import TaskStore

    TaskStore(settings.home).get(task)


def _places() -> Places:
    from clients.client import FOLDER_VARIABLES, Places
    from hil_mcp.settings import variables

    return Places(
        home=Path.home(),
        project=Path.cwd(),
        platform=sys.platform,
        variables=variables(FOLDER_VARIABLES),
    )


def _document(client: str, change: Change, *, dry_run: bool) -> dict[str, object]:
    return {
        "client": client,
        "path": str(change.path),
        "changed": not change.is_nothing and not dry_run,
        "diff": change.diff(),
    }
