"""`hil-mcp doctor`: does a real agent on this machine get through to a human?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.cli.output import console, print_json
from hil_mcp.errors import ConfigError

if TYPE_CHECKING:
    from hil_mcp.client_check import Check

_MARKS = {True: "yes", False: "NO", None: "?"}


def doctor(
    *,
    client: Annotated[
        str, typer.Option(help="The agent that is to make one live call; it uses your login.")
    ],
    model: Annotated[str | None, typer.Option(help="Its model; its own choice else.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Another model endpoint than the vendor's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> int:
    """Have a real agent ask one question on a starter task, and look at both ends of the call."""
    import anyio

    from clients.client import Model
    from clients.errors import ClientError
    from clients.run_client import headless_of
    from clients.table import find_client
    from hil_mcp.client_check import check_client
    from hil_mcp.settings import find_program, load_settings, search_path, variables

    if base_url is not None and model is None:
        raise ConfigError("--base-url needs --model: the agent does not know the models there")
    found = find_client(client)
    headless = headless_of(found)
    program = find_program(headless.program)
    if program is None:
        raise ClientError(f"{headless.program} is not on PATH: install {found.title} first")
    settings = load_settings()
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
    is_well = all(check.passed is not False for check in checks)
    if as_json:
        rows = [
            {"name": each.name, "passed": each.passed, "detail": each.detail} for each in checks
        ]
        print_json({"client": client, "program": program, "well": is_well, "checks": rows})
    else:
        _print(found.title, program, checks)
    return ExitStatus.DONE if is_well else ExitStatus.PROGRAM


def _print(title: str, program: str, checks: tuple[Check, ...]) -> None:
    from rich.table import Table

    table = Table(title=f"{title} ({program})", show_header=False, title_justify="left")
    for check in checks:
        table.add_row(_MARKS[check.passed], check.name, check.detail)
    console().print(table, markup=False)
