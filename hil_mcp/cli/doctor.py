"""`hil-mcp doctor`: does this machine hold repository tasks, and does an agent get through?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.output import console, print_json
from hil_mcp.errors import ConfigError

if TYPE_CHECKING:
    from hil_mcp.client_check import Check
    from hil_mcp.settings import Settings

_MARKS = {True: "yes", False: "NO", None: "?"}


def doctor(
    *,
    client: Annotated[
        str | None,
        typer.Option(help="An agent that is to make one live call; it uses your login."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Its model; its own choice else.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Another model endpoint than the vendor's.")
    ] = None,
    remove_orphans: Annotated[
        bool, typer.Option(help="Remove containers whose server was killed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> int:
    """Look at this machine's sandboxes; with --client, have a real agent ask one question."""
    import anyio

    from hil_mcp.machine_check import check_machine
    from hil_mcp.sandbox.opening import sandbox_config
    from hil_mcp.settings import load_settings

    if base_url is not None and model is None:
        raise ConfigError("--base-url needs --model: the agent does not know the models there")
    settings = load_settings()
    if client is None:
        title, program = "This machine", None
        checks = anyio.run(lambda: check_machine(sandbox_config(settings), remove=remove_orphans))
    else:
        title, program, checks = _check_client(client, model, base_url, settings)
    is_well = all(check.passed is not False for check in checks)
    if as_json:
        rows = [
            {"name": each.name, "passed": each.passed, "detail": each.detail} for each in checks
        ]
        print_json({"client": client, "program": program, "well": is_well, "checks": rows})
    else:
        _print(f"{title} ({program})" if program else title, checks)
    return ExitStatus.DONE if is_well else ExitStatus.PROGRAM


def _check_client(
    client: str, model: str | None, base_url: str | None, settings: Settings
) -> tuple[str, str, tuple[Check, ...]]:
    import anyio

    from clients.client import Model
    from clients.errors import ClientError
    from clients.run_client import headless_of
    from clients.table import find_client
    from hil_mcp.client_check import check_client
    from hil_mcp.settings import find_program, search_path, variables

    found = find_client(client)
    headless = headless_of(found)
    program = find_program(headless.program)
    if program is None:
        raise ClientError(f"{headless.program} is not on PATH: install {found.title} first")
    checks = anyio.run(
        lambda: check_client(
            found,
            program=Path(program),
            model=Model(name=model, base_url=base_url),
            environment={"PATH": search_path(), **variables(headless.login.variables)},
            user_home=Path.home(),
            hil_home=settings.home.absolute(),
        )
    )
    return found.title, program, checks


def _print(title: str, checks: tuple[Check, ...]) -> None:
    from rich.table import Table

    table = Table(title=title, show_header=False, title_justify="left")
    for check in checks:
        table.add_row(_MARKS[check.passed], check.name, check.detail)
    console().print(table, markup=False)
