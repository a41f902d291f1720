from __future__ import annotations

import json

import pytest

from clients.json_edit import has_member, remove_member, set_member
from clients.json_tree import JsonSyntaxError

HIL = ("mcpServers", "hil")
ENTRY = {"command": "/usr/bin/python3", "args": ["-m", "hil_mcp"]}

# Each comes back to the byte when what was put in is taken out again.
TEXTS = {
    "one_line": '{"mcpServers": {"other": {"command": "x"}}, "n": 1}',
    "compact": '{"mcpServers":{"other":{"command":"x"}}}',
    "lines": '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  },\n  "n": 1\n}\n',
    "trailing_commas": '{\n  "mcpServers": {\n    "other": {"command": "x",},\n  },\n}\n',
    "one_line_trailing": '{"mcpServers": {"other": 1,},}',
    "comments": (
        '// head\n{\n  /* servers */ "mcpServers": { // of all kinds\n'
        '    // the first\n    "other": {"command": "x"} // the last\n    // "hil": {}\n  }\n}\n'
        "// tail"
    ),
    "comment_before_comma": '{\n  "mcpServers": {\n    "other": 1 /* one */,\n  }\n}',
    "tabs": '{\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t}\n}\n',
    "four_spaces": '{\n    "mcpServers": {\n        "other": 1\n    }\n}',
    "windows_lines": (
        '{\r\n  "mcpServers": {\r\n    "other": {"command": "C:\\\\x.exe"}\r\n  }\r\n}\r\n'
    ),
    "byte_order_mark": '\ufeff{\n  "mcpServers": {\n    "other": 1\n  }\n}\n',
    "unicode": '{\n  "mcpServers": {\n    "日本\\u8a9e": {"π": "\u2028😀"}\n  }\n}\n',
    "braces_in_strings": (
        '{\n  "a": "}{\\"",\n  "mcpServers": {\n    "b": "// no /* comment"\n  }\n}\n'
    ),
    "empty_servers": '{\n  "mcpServers": {},\n  "n": 1\n}\n',
    "no_servers": '{\n  "n": [1, 2, {"k": null}],\n  "m": -1.5e3\n}\n',
    "no_servers_one_line": '{"n": true}',
    "no_final_newline": '{\n  "mcpServers": {\n    "other": 1\n  }\n}',
    "keys_twice": '{\n  "mcpServers": {"a": 1},\n  "mcpServers": {"b": 2}\n}\n',
    "unknown_keys": (
        '{\n  "$schema": "x",\n  "mcpServers": {\n    "other": 1\n  },\n  "zzz": 0\n}\n'
    ),
    "empty_object": "{}\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_what_was_put_in_comes_out_without_a_trace(text: str) -> None:
    had_servers = has_member(text, ("mcpServers",))

    changed = set_member(text, HIL, ENTRY)
    taken_out = remove_member(changed, HIL if had_servers else HIL[:1])

    assert has_member(changed, HIL)
    assert taken_out == text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_nothing_is_lost_or_moved_when_an_entry_is_put_in(text: str) -> None:
    left = iter(set_member(text, HIL, ENTRY))

    assert all(character in left for character in text)


@pytest.mark.parametrize("name", ["one_line", "lines", "no_servers", "unicode", "empty_object"])
def test_plain_json_stays_plain_json(name: str) -> None:
    before = json.loads(TEXTS[name])

    after = json.loads(set_member(TEXTS[name], HIL, ENTRY))

    assert after.pop("mcpServers")["hil"] == ENTRY
    before.pop("mcpServers", None)
    assert after == before


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "// nothing yet\n", "/* nothing */"])
def test_an_empty_text_counts_as_an_empty_object(text: str) -> None:
    changed = set_member(text, HIL, ENTRY)

    assert changed.startswith(text)
    assert has_member(changed, HIL)


def test_an_entry_that_is_there_is_replaced_where_it_stands() -> None:
    text = '{\n  "mcpServers": {\n    "hil": {"command": "old"}, // ours\n    "other": 1\n  }\n}\n'

    changed = set_member(text, HIL, {"command": "new"})

    assert changed == text.replace('{"command": "old"}', '{\n      "command": "new"\n    }')


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"mcpServers": {"hil": 1, "other": 2}}', '{"mcpServers": {"other": 2}}'),
        ('{"mcpServers": {"a": 1, "hil": 2, "b": 3}}', '{"mcpServers": {"a": 1, "b": 3}}'),
        (
            '{\n  "mcpServers": {\n    "hil": 1, // ours\n    "other": 2\n  }\n}',
            '{\n  "mcpServers": { // ours\n    "other": 2\n  }\n}',
        ),
        ('{"mcpServers": {\n  // keep\n  "hil": 1\n}}', '{"mcpServers": {\n  // keep\n}}'),
        ('{"mcpServers": {"hil": 1}}', '{"mcpServers": {}}'),
        ('{"mcpServers": {"other": 1}}', '{"mcpServers": {"other": 1}}'),
        ("", ""),
    ],
)
def test_an_entry_is_taken_out_from_wherever_it_stands(text: str, left: str) -> None:
    assert remove_member(text, HIL) == left


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1', "line 1, column 8"),
        ('{"a" 1}', "line 1, column 6"),
        ('{\n  "a": 1\n  "b": 2}', "line 3, column 3"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": [1 2]}', "line 1, column 10"),
        ('{"a": }', "line 1, column 7"),
        ('{"a": "open}', "line 1"),
        ('{"a": 1} {}', "line 1, column 10"),
        ('{"mcpServers": []}', "line 1, column 16"),
        ("[1]", "line 1, column 1"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "nested deeper"),
        ("<<<<<<< HEAD\n{}", "line 1, column 1"),
    ],
)
def test_a_text_that_is_no_json_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(JsonSyntaxError, match=place):
        set_member(text, HIL, ENTRY)
