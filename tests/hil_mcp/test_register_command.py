"""`hil-mcp register` and `unregister`, on the files that people really have."""

from __future__ import annotations

import json
import stat
import sys
import tomllib
from pathlib import Path

import pytest

from clients.table import CLIENTS
from hil_mcp.cli.main import main

TASK = ("--task", "lockers_late")

# (client, text of its user configuration): each is given back byte for byte.
AWKWARD = {
    "empty": ("gemini", b""),
    "only_blank_lines": ("gemini", b"\n\n"),
    "only_a_comment": ("opencode", b"// mine\n"),
    "empty_object": ("cursor", b"{}"),
    "spread_empty_object": ("cursor", b"{\n\n}\n"),
    "spread_empty_servers": ("cursor", b'{\n  "mcpServers": {\n  }\n}\n'),
    "comments": ("gemini", b'// a\n{ /* b */ "ui": { "theme": "x" } // c\n}\n// d'),
    "trailing_commas": ("opencode", b'{\n  "mcp": {\n    "a": {"type": "local",},\n  },\n}\n'),
    "unknown_keys": ("claude-code", b'{"numStartups": 9, "projects": {"/a": {"x": [1, {}]}}}'),
    "other_servers": ("cursor", b'{\n\t"mcpServers": {\n\t\t"b": {"url": "u"}\n\t}\n}\n'),
    "byte_order_mark": ("vscode", b'\xef\xbb\xbf{\n  "servers": {}\n}\n'),
    "windows": (
        "claude-desktop",
        b'{\r\n  "mcpServers": {\r\n    "a": {"command": "C:\\\\a"}\r\n  }\r\n}',
    ),
    "unicode": ("copilot", '{"mcpServers": {"日本": {"args": ["π\u2028😀", "\\u00e9"]}}}'.encode()),
    "no_final_newline": ("qwen-code", b'{\n    "mcpServers": {\n        "a": {}\n    }\n}'),
    "minified": ("claude-code", b'{"mcpServers":{"a":{"command":"a"}},"z":1}'),
    "long_line": ("claude-code", b'{"history": "' + b"x" * 500_000 + b'"}'),
    "keys_twice": ("gemini", b'{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}'),
    "toml_comments": ("codex", b'# mine\nmodel = "x" # best\n\n[mcp_servers.a]\ncommand = "a"\n'),
    "toml_on_one_line": ("codex", b'mcp_servers = { a = { command = "a" } } # all\n'),
    "toml_windows": ("codex", b'model = "x"\r\n\r\n[tools]\r\nweb_search = false\r\n'),
    "toml_empty": ("codex", b""),
    "toml_no_final_newline": ("codex", b"[a]\nb = 1"),
}

# Only the kept copy knows how an empty object was spread over lines, or that there was none.
LOOSE = {
    *("empty", "only_blank_lines", "only_a_comment", "toml_no_final_newline"),
    *("spread_empty_object", "spread_empty_servers"),
}


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder of the user's, and a project beside it."""
    path = tmp_path / "user"
    path.mkdir()
    (tmp_path / "project").mkdir()
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.chdir(tmp_path / "project")
    return path


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return int(end.value.code or 0)


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert _run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def _config(capsys: pytest.CaptureFixture[str], client: str, *scope: str) -> Path:
    """Where a client's configuration is."""
    document = _json(capsys, "register", client, *TASK, *scope, "--dry-run")
    return Path(str(document["path"]))


def _tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize(("client", "content"), AWKWARD.values(), ids=AWKWARD.keys())
def test_a_file_is_given_back_byte_for_byte(
    client: str, content: bytes, user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _config(capsys, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)

    assert _run("register", client, *TASK) == 0
    registered = path.read_bytes()
    assert _run("unregister", client) == 0

    assert b"lockers_late" in registered
    assert path.read_bytes() == content


@pytest.mark.parametrize("case", sorted(AWKWARD.keys() - LOOSE))
def test_a_file_that_grew_meanwhile_loses_our_entry_alone(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    client, content = AWKWARD[case]
    path = _config(capsys, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)

    assert _run("register", client, *TASK) == 0
    path.write_bytes(path.read_bytes() + b"\n")
    assert _run("unregister", client) == 0

    assert path.read_bytes() == content + b"\n"


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("client", [client.name for client in CLIENTS])
def test_a_file_that_was_not_there_is_gone_again_and_its_folders_with_it(
    client: str, scope: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if client == "claude-desktop" and scope == "project":
        assert _run("register", client, *TASK, "--scope", scope) == 2
        return
    before = _tree(tmp_path / "user") | _tree(tmp_path / "project")

    assert _run("register", client, *TASK, "--scope", scope) == 0
    written = _tree(tmp_path / "user") | _tree(tmp_path / "project")
    assert _run("unregister", client, "--scope", scope) == 0

    assert [data for data in written.values() if data and b"lockers_late" in data]
    assert _tree(tmp_path / "user") | _tree(tmp_path / "project") == before


def test_what_others_wrote_meanwhile_stays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = _config(capsys, "claude-code")
    path.write_text('{"numStartups": 1}')
    assert _run("register", "claude-code", *TASK) == 0
    path.write_text(json.dumps({**json.loads(path.read_text()), "numStartups": 2}))

    assert _run("unregister", "claude-code") == 0

    assert json.loads(path.read_text()) == {"numStartups": 2}


def test_registering_another_task_replaces_the_first_and_keeps_the_way_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = _config(capsys, "codex")
    path.parent.mkdir()
    path.write_text("# mine\n")
    assert _run("register", "codex", *TASK) == 0
    assert _run("register", "codex", *TASK, "--mode", "baseline") == 0

    servers = tomllib.loads(path.read_text())["mcp_servers"]
    assert list(servers) == ["hil"]
    assert "baseline" in servers["hil"]["args"]
    assert _run("unregister", "codex") == 0
    assert path.read_text() == "# mine\n"


def test_an_entry_starts_this_interpreter_by_its_absolute_path(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _config(capsys, "claude-code")

    assert _run("register", "claude-code", *TASK, "--judge", "embedded") == 0

    entry = json.loads(path.read_text())["mcpServers"]["hil"]
    assert entry["command"] == sys.executable
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][:4] == ["-m", "hil_mcp", "serve", "--task"]
    assert entry["args"][-2:] == ["--judge", "embedded"]
    assert entry["env"] == {"HIL_MCP_HOME": str(home)}


def test_a_running_server_is_registered_by_address_and_its_token_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text("very-secret")

    for client in CLIENTS:
        if client.name != "claude-desktop":
            document = _json(
                capsys,
                "register",
                client.name,
                "--http",
                "http://127.0.0.1:8765/mcp",
                "--token-file",
                str(token),
            )
            assert "HIL_MCP_TOKEN" in str(document["diff"])
            assert f"$(cat {token})" in str(document["next"])
    everything = _tree(tmp_path / "user") | _tree(tmp_path / "home")
    assert not [data for data in everything.values() if data and b"very-secret" in data]


def test_a_dry_run_prints_the_change_and_makes_none(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (user / ".gemini").mkdir()
    (user / ".gemini" / "settings.json").write_text('{\n  "ui": {}\n}\n')
    before = _tree(user)

    assert _run("register", "gemini", *TASK, "--dry-run") == 0

    diff = capsys.readouterr().out
    assert '-  "ui": {}' in diff
    assert '+  "ui": {},' in diff
    assert _tree(user) == before


def test_a_link_stays_a_link_and_its_target_keeps_its_mode(
    tmp_path: Path, user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "dotfiles" / "cursor.json"
    target.parent.mkdir()
    target.write_text("{}")
    target.chmod(0o640)
    (user / ".cursor").mkdir()
    (user / ".cursor" / "mcp.json").symlink_to(target)

    assert _run("register", "cursor", *TASK) == 0

    assert (user / ".cursor" / "mcp.json").is_symlink()
    assert "hil" in json.loads(target.read_text())["mcpServers"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"mcpServers": {', "line 1, column 17"),
        (b"<<<<<<< HEAD\n{}", "line 1, column 1"),
        (b'{"mcpServers": []}', "an object is expected"),
        ('{"a": "é"}'.encode("latin-1"), "not UTF-8"),
        (b'{"mcpServers": {"hil": {"command": "theirs"}}}', "no record"),
    ],
)
def test_a_file_that_cannot_be_edited_is_left_alone(
    content: bytes, problem: str, user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = user / ".claude.json"
    path.write_bytes(content)

    status = _run("register", "claude-code", *TASK)

    message = capsys.readouterr().err
    assert status == 5
    assert problem in message
    assert str(path) in message
    assert path.read_bytes() == content


def test_a_read_only_file_is_left_alone(
    user: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = user / ".claude.json"
    path.write_text("{}")
    path.chmod(0o444)

    status = _run("register", "claude-code", *TASK)

    assert status == 5
    assert "chmod u+w" in capsys.readouterr().err
    assert not any((home / "registered").iterdir())
    assert path.read_text() == "{}"


def test_taking_out_what_is_not_there_changes_nothing(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("unregister", "cursor") == 0

    assert 'has no server "hil"' in capsys.readouterr().out
    assert _tree(user) == {}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("register", "emacs", *TASK), "unknown client 'emacs': claude-code"),
        (("register", "codex"), "--task is missing"),
        (("register", "codex", "--task", "no_such_task"), "no_such_task"),
        (("register", "codex", *TASK, "--token-file", "t"), "--token-file is for --http"),
        (("register", "codex", *TASK, "--http", "http://127.0.0.1:1/mcp"), "running server"),
        (("register", "codex", "--http", "127.0.0.1:1"), "an address such as"),
        (("register", "claude-desktop", "--http", "http://127.0.0.1:1/mcp"), "leave --http out"),
        (("unregister", "claude-desktop", "--scope", "project"), "no project scope"),
    ],
)
def test_wrong_usage_is_one_line_with_the_way_out(
    arguments: tuple[str, ...], problem: str, user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = _run(*arguments)

    message = capsys.readouterr().err
    assert status == 2
    assert problem in message
    assert message.count("\n") == 1
    assert _tree(user) == {}
