"""Text that a server sent, made fit for one line of a message: short, printable, no markup."""

from __future__ import annotations

import json
import re

DETAIL_LIMIT = 300
"""Characters of a server's text that a message quotes."""
HTML_PAGE = "an HTML page"
_HTML = re.compile(r"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


def one_line(text: str, *, limit: int = DETAIL_LIMIT) -> str:
    """The text on one line, cut at `limit`; what would act on a terminal is spelled out."""
    line = " ".join(text[: 4 * limit].split())
    shown = "".join(char if char.isprintable() else _spelled(char) for char in line)
    return shown if len(shown) <= limit else shown[:limit] + "…"


def is_html(body: bytes | str) -> bool:
    """Whether a body is a page for a browser."""
    text = decoded(body[:200]) if isinstance(body, bytes) else body
    return _HTML.match(text) is not None


def quoted(body: bytes) -> str:
    """A body as a message quotes it."""
    return HTML_PAGE if is_html(body) else one_line(decoded(body))


def decoded(body: bytes) -> str:
    """A body as text, without the mark of byte order that some servers begin with."""
    return body.decode("utf-8-sig", "replace")


def parsed(body: bytes) -> object:
    """A body's JSON value.

    Raises:
        ValueError: It is none, or one that is nested too deep.
    """
    try:
        value: object = json.loads(decoded(body))
    except RecursionError as exc:
        raise ValueError("nested too deep") from exc
    return value


def sound_json(value: object) -> bytes:
    """A parsed value as JSON again, half surrogate pairs replaced.

    Raises:
        ValueError: It is nested too deep.
    """
    try:
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except RecursionError as exc:
        raise ValueError("nested too deep") from exc


def encodable(text: str) -> str:
    """The text with half surrogate pairs replaced; JSON can carry them and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
