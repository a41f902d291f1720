"""Splits SQL into words and marks, as far as reading its outer shape needs.

It parses nothing: whether a text is SQL is for SQLite to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<quoted>'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?)
    |(?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))
    |(?P<word>[A-Za-z_\x80-\U0010ffff][\w$]*)
    |(?P<mark>\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One word, number, quoted name or text, or mark."""

    text: str
    """As written; a word in upper case."""
    is_word: bool
    depth: int
    """Parentheses around it; a parenthesis itself has the depth outside it."""
    start: int
    """Index of its first character in the text."""
    end: int
    """Index behind its last character."""


def tokens_of(sql: str) -> list[Token]:
    """All tokens but blanks and comments."""
    tokens: list[Token] = []
    depth = 0
    for match in _TOKEN.finditer(sql):
        kind, text = match.lastgroup, match.group()
        if kind == "blank":
            continue
        if text == ")":
            depth -= 1
        word = kind == "word"
        tokens.append(
            Token(
                text=text.upper() if word else text,
                is_word=word,
                depth=depth,
                start=match.start(),
                end=match.end(),
            )
        )
        if text == "(":
            depth += 1
    return tokens


def is_one_query(sql: str) -> bool:
    """Whether a text has the outer shape of one SELECT, WITH or VALUES statement."""
    tokens = tokens_of(sql)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if not tokens or any(token.text == ";" for token in tokens):
        return False
    return tokens[0].text in ("SELECT", "WITH", "VALUES")
