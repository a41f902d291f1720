"""The entry point: logging, the table of commands, and the place where errors end the process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hil_mcp.cli import diagnostics
from hil_mcp.cli.demo import demo
from hil_mcp.cli.exit_status import ExitStatus, status_of
from hil_mcp.cli.score import score
from hil_mcp.cli.serve import serve
from hil_mcp.cli.tasks import app as tasks
