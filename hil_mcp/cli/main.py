"""The entry point: logging, the table of commands, and the place where errors end the process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hil_mcp.cli import diagnostics
from hil_mcp.cli.demo import demo
from hil_mcp.cli.doctor import doctor
from hil_mcp.cli.exit_status import ExitStatus, status_of
from hil_mcp.cli.grade import grade
from hil_mcp.cli.judge import app as judge
from hil_mcp.cli.output import failure_of_stdout, give_up_stdout, open_stdout
from hil_mcp.cli.register import register, unregister
from hil_mcp.cli.run import run
from hil_mcp.cli.score import score
from hil_mcp.cli.serve import serve
from hil_mcp.cli.tasks import app as tasks
from hil_mcp.errors import ConfigError
from hil_mcp.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence


def build_app() -> typer.Typer:
    """All commands. Their modules import what they run when they run: `serve` must start fast."""
    app = typer.Typer(
        name="hil-mcp",
        help="Measure whether a coding agent knows when to ask.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_program)
    app.command("demo")(demo)
    app.add_typer(tasks, name="tasks")
    app.command("serve")(serve)
    app.command("register")(register)
    app.command("unregister")(unregister)
    app.command("doctor")(doctor)
    app.command("run")(run)
    app.command("grade")(grade)
    app.command("score")(score)
    app.add_typer(judge, name="judge")
    return app


def _program(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed_version

        print(f"hil-mcp {installed_version('hil-mcp')}")
        raise typer.Exit


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and end the process with its exit status.

    Args:
        argv: Arguments without the program's name; the process's own by default.
    """
    open_stdout()
    stdout = sys.stdout
    status = _run(list(sys.argv[1:] if argv is None else argv))
    sys.stdout = stdout  # Typer puts something that hides the failure over one that broke
    failure = failure_of_stdout()
    if failure is None:
        sys.exit(status)
    give_up_stdout()
    if isinstance(failure, BrokenPipeError):  # whoever reads no more has seen enough
        sys.exit(ExitStatus.INTERRUPTED)
    print(f"hil-mcp: stdout: cannot be written: {failure.strerror}", file=sys.stderr)
    sys.exit(ExitStatus.DATA)


def _run(arguments: list[str]) -> int | str | None:
    try:
        diagnostics.set_up(load_settings().home)
        result = build_app()(arguments, standalone_mode=False)
    except (typer.Exit, SystemExit) as exc:
        return exc.exit_code if isinstance(exc, typer.Exit) else exc.code
    except typer.Abort:
        return ExitStatus.INTERRUPTED
    except typer.TyperException as exc:
        print(f'hil-mcp: {exc.format_message()} (see "hil-mcp --help")', file=sys.stderr)
        return ExitStatus.USAGE
    except BaseException as exc:  # noqa: BLE001  # the process ends here, with a status and a line
        # A result that cannot be written is told by the caller, whoever noticed it first.
        return ExitStatus.DATA if isinstance(exc, OSError) and failure_of_stdout() else _report(exc)
    return result if isinstance(result, int) else ExitStatus.DONE


def _report(error: BaseException) -> ExitStatus:
    status = status_of(error)
    if status is ExitStatus.INTERRUPTED:
        print("interrupted", file=sys.stderr)
    elif status is ExitStatus.OURS:
        print(
            f"hil-mcp: a bug of ours ({type(error).__name__}); {_kept(error)}",
            file=sys.stderr,
        )
    else:
        print(f"hil-mcp: {error}", file=sys.stderr)
    return status


def _kept(error: BaseException) -> str:
    # The message itself is not printed: the agent may be able to read the stderr of `serve`.
    try:
        path = diagnostics.keep_traceback(load_settings().home, error)
    except (OSError, ConfigError) as exc:  # a full disk must not hide the first error
        return f"its traceback could not be kept ({type(exc).__name__})"
    return f"its traceback is in {path}"
