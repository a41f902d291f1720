"""What holds for the whole: exported names, statuses, and documents that tell the truth."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer

import clients.errors
import hil_mcp.errors
import judge.errors
import task_store.errors
from hil_mcp.cli.exit_status import ExitStatus, status_of
from hil_mcp.cli.main import build_app, main
from hil_mcp.errors import AgentFacingError, HilMcpError
from hil_mcp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]

PUBLIC = {
    "judge": ["BlockerView", "Judge", "JudgeError", "JudgeFingerprint", "RegistryView", "Verdict"],
}


@pytest.mark.parametrize(("package", "names"), list(PUBLIC.items()))
def test_what_a_package_exports_is_written_down(package: str, names: list[str]) -> None:
    assert importlib.import_module(package).__all__ == names


@pytest.mark.parametrize("package", ["hil_mcp", "judge", "task_store", "clients"])
def test_every_exported_name_exists_and_the_list_is_sorted(package: str) -> None:
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", []))

    assert all(hasattr(module, name) for name in names)
    assert names == sorted(names)


def _errors() -> Iterator[type[Exception]]:
    for module in (hil_mcp.errors, judge.errors, task_store.errors, clients.errors):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, Exception) and kind.__module__ == module.__name__:
                yield kind


@pytest.mark.parametrize("kind", list(_errors()), ids=lambda kind: kind.__name__)
def test_every_error_of_ours_is_explained_and_is_somebody_s(kind: type[Exception]) -> None:
    assert kind.__doc__
    if kind in (AgentFacingError, HilMcpError):
        return  # the agent's, and the root: neither ends a command
    assert status_of(kind.__new__(kind)) is not ExitStatus.OURS


def _commands() -> list[str]:
    command = typer.main.get_command(build_app())
    found: list[str] = []
    for name, one in sorted(getattr(command, "commands", {}).items()):
        inner = getattr(one, "commands", None)
        found.extend([f"{name} {child}" for child in sorted(inner)] if inner else [name])
    return found


@pytest.mark.parametrize("command", _commands())
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])

    assert ended.value.code == ExitStatus.DONE
    assert "Usage:" in capsys.readouterr().out


def test_every_command_stands_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme[readme.index("## Commands") : readme.index("## Settings")]

    for command in _commands():
        assert command.split()[-1] in table, command


def test_every_setting_stands_in_the_readme_or_the_guide() -> None:
    text = "".join(
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/guide.md")
    )

    for name in Settings.model_fields:
        assert f"HIL_MCP_{name.upper()}" in text


def _shown_commands() -> list[str]:
    found: list[str] = []
    for name in ("README.md", "docs/guide.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
            joined = block.replace("\\\n", " ")
            found.extend(re.findall(r"^\$ (?:\w+=\S+ )*hil-mcp (.*)$", joined, re.MULTILINE))
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("line", _shown_commands())
def test_a_command_that_the_documents_show_parses(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(line, comments=True)
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    n_names = 2 if words[0] in ("tasks", "judge") else 1

    with pytest.raises(SystemExit) as ended:
        main([*words[:n_names], "--help"])

    shown = capsys.readouterr().out
    assert ended.value.code == ExitStatus.DONE
    for option in options:
        # Whole: --out must not pass for --output.
        assert re.search(rf"{re.escape(option)}(?![\w-])", shown), f"{line}: {option}"


@pytest.mark.parametrize("name", ["README.md", "docs/guide.md", "docs/threat-model.md"])
def test_links_between_the_documents_lead_somewhere(name: str) -> None:
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target


def test_no_lock_file_names_an_index() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text(encoding="utf-8")
        assert "index-url" not in text
        assert "://" not in text
        assert "--hash=sha256:" in text
