"""The commands."""

from __future__ import annotations

import argparse
from pathlib import Path

from keepsake.index import UnknownSnapshotError, load_index, save_index
from keepsake.report import list_table, usage_table


def build_parser() -> argparse.ArgumentParser:
    """The parser with every command."""
    parser = argparse.ArgumentParser(prog="keepsake")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in [("list", "show the snapshots"), ("usage", "show the space by host")]:
        command = commands.add_parser(name, help=text)
        command.add_argument("index", type=Path)
    for name, text in [("pin", "pin a snapshot"), ("unpin", "take a pin away")]:
        command = commands.add_parser(name, help=text)
        command.add_argument("index", type=Path)
        command.add_argument("snapshot")
    return parser


def main(arguments: list[str]) -> int:
    """Run one command; returns the exit status."""
    options = build_parser().parse_args(arguments)
    index = load_index(options.index)
    if options.command == "list":
        print(list_table(index.all()))
    elif options.command == "usage":
        print(usage_table(index))
    else:
        try:
            index.pin(options.snapshot, pinned=options.command == "pin")
        except UnknownSnapshotError:
            print(f"no snapshot is called {options.snapshot}")
            return 1
        save_index(index, options.index)
    return 0
