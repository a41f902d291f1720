from __future__ import annotations

import tomllib

import pytest

from clients.toml_edit import TomlSyntaxError, has_table, remove_table, set_table

HIL = ("mcp_servers", "hil")
ENTRY = {"command": "C:\\py.exe", "args": ["-m", "hil_mcp"], "env": {"A": "b"}, "required": True}

# Each comes back to the byte when what was put in is taken out again.
TEXTS = {
    "empty": "",
    "plain": 'model = "x"\n',
    "other_servers": '# mine\n[mcp_servers.other] # o\ncommand = "a"\n\n[profiles.x]\nm = 1\n',
    "servers_table": '[mcp_servers]\na = { command = "x" }\n',
    "dotted_keys": 'mcp_servers.a.command = "x"\nz = 1\n',
    "windows_lines": 'model = "x"\r\n\r\n[mcp_servers.o]\r\ncommand = "C:\\\\x"\r\n',
    "byte_order_mark": '\ufeffmodel = "x"\n',
    "unicode": '"日本" = "π 😀 \u2028"\n# ende\n',
    "header_in_a_string": 's = """\n[mcp_servers.hil]\ncommand = 1\n"""\n',
    "array_of_tables": '[[jobs]]\nname = "a"\n\n[[jobs]]\nname = "b"\n',
    "many_blank_lines": 'model = "x"\n\n\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_what_was_put_in_comes_out_without_a_trace(text: str) -> None:
    changed = set_table(text, HIL, ENTRY)

    assert has_table(changed, HIL)
    assert remove_table(changed, HIL) == text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_everything_else_reads_as_before(text: str) -> None:
    before = tomllib.loads(text.removeprefix("\ufeff"))

    after = tomllib.loads(set_table(text, HIL, ENTRY).removeprefix("\ufeff"))

    assert after["mcp_servers"].pop("hil") == ENTRY
    before.setdefault("mcp_servers", {})
    assert after == before


def test_a_table_that_is_there_is_replaced_where_it_stands() -> None:
    ours = '[mcp_servers.hil]\ncommand = "old"\n\n[mcp_servers.hil.env]\nA = "x"\n'
    text = f"a = 1\n\n{ours}\n# b\n[b]\n"

    changed = set_table(text, HIL, {"command": "new"})

    assert changed == 'a = 1\n\n[mcp_servers.hil]\ncommand = "new"\n\n# b\n[b]\n'


def test_a_table_on_one_line_gets_its_entry_there() -> None:
    text = 'x = 1 # one\nmcp_servers = { a = { command = "x" } }\n'

    changed = set_table(text, HIL, {"command": "new"})

    assert changed.startswith("x = 1 # one\n")
    assert tomllib.loads(changed)["mcp_servers"]["hil"] == {"command": "new"}
    assert has_table(remove_table(changed, HIL), ("mcp_servers", "a"))


def test_a_table_is_taken_out_from_the_middle() -> None:
    text = '[a]\nx = 1\n\n[mcp_servers.hil]\ncommand = "c"\n\n# of b\n[b]\ny = 2\n'

    assert remove_table(text, HIL) == "[a]\nx = 1\n\n# of b\n[b]\ny = 2\n"


def test_a_text_without_the_table_stays() -> None:
    assert remove_table("a = 1\n", HIL) == "a = 1\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = \n", "line 1"),
        ("[a\n", "line 1"),
        ("a = 1\na = 2\n", "overwrite"),
        ("mcp_servers = 3\n", "mcp_servers is not a table"),
    ],
)
def test_a_text_that_cannot_be_changed_is_refused(text: str, problem: str) -> None:
    with pytest.raises(TomlSyntaxError, match=problem):
        set_table(text, HIL, ENTRY)
