"""What a server's refusal means: a status, and what servers of many makes write about it.

The texts are matched narrowly and in order: a window that is too small is often told in words that
name `max_tokens`, and a route that is not there in words that name the model.
"""

from __future__ import annotations

import email.utils
import re
from typing import TYPE_CHECKING, cast

from judge.address import without_password
from judge.call_error import CallError
from judge.server_text import decoded, is_html, one_line, parsed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from judge.call_error import Culprit, RequestPart

_TRANSIENT_STATUS = {408, 409, 425, 429}
_FINAL_STATUS = {501, 505}
_READ_LIMIT = 20_000
"""Characters of a refusal that are looked at."""
NO_API = "is this the address of an OpenAI-compatible API?"
_ROUTE = re.compile(r"(?<![\w/])/\S+")

_WINDOW = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|context the overflows"
    r"|\b(?:prompts?|inputs?|messages?|requests?)\b[^.]{0,60}\btoo (?:long|many tokens)"
    r"|too long|token count\b[^.]{0,60}\bexceeds"
    r"|exceeds?\b[^.]{0,60}\bmax(?:imum)?\b[^.]{0,40}\btokens"
    r"|exceeds?\b[^.]{0,60}\b(?:max_(?:seq|input|model)_len|n_ctx|num_ctx)"
    r"|max_new_tokens`? must be <=|must have less than \d+ tokens"
    r"|reduce the length of the (?:messages?|prompts?|inputs?)"
)
_NO_MODEL = re.compile(
    r"\bno such model\b|\b(?:unknown|invalid|unsupported) model\b|\bmodel_not_found\b"
    r"|\bnot a valid model\b|\bno endpoints found for\b|\bdeployment\b.{0,60}\bdoes not exist\b"
    r"|\bmodel\b.{0,200}?\b(?:not|n't) (?:(?:be )?found|exist|served|loaded|a valid)\b"
)
# Also said of a part of the request that a model does not take, so looked for last.
_OTHER_MODEL = re.compile(r"\bmodel\b.{0,200}?\bnot (?:available|supported)\b")
_REFUSED = re.compile(
    r"unsupported|not (?:\w+ ){0,2}(?:support|allow|permit|accept|recogni[sz]|implement|enabl)"
    r"|n't (?:support|allow|accept)|unrecogni[sz]ed|unknown|unexpected|extra_forbidden|deprecated"
    r"|only the default|cannot be used"
)
_UNSUPPORTED = re.compile(r"unsupported|not (?:\w+ ){0,2}(?:support|implement)|n't support")
_SCHEMA = re.compile(r"response_format|json_?schema|json schema|structured|guided|grammar")
_PARTS: tuple[tuple[RequestPart, re.Pattern[str]], ...] = (
    ("max_tokens", re.compile(r"\bmax_tokens\b")),
    ("seed", re.compile(r"\bseed\b")),
    ("temperature", re.compile(r"\btemperature\b")),
    ("response_format", re.compile(rf"{_SCHEMA.pattern}|\bschemas?\b")),
)
_BAD_KEY = re.compile(
    r"\binvalid_api_key\b|\bno auth credentials\b"
    r"|\b(?:invalid|incorrect|missing|no) (?:\w+ )?api[ _-]?key\b"
    r"|\bapi[ _-]?key\b.{0,60}\b(?:not valid|invalid|incorrect|missing|expired)\b"
)


def refusal(
    status: int, body: bytes, *, url: str, headers: Mapping[str, str], is_in_body: bool = False
) -> CallError:
    """What a reply with an error status says.

    Args:
        status: HTTP status, or the code in the body that stands for it.
        body: The reply.
        url: What was asked, for messages.
        headers: Of the reply.
        is_in_body: Whether the reply itself had the status 200.
    """
    text = _searched(body)
    culprit = _culprit(status, text)
    place = f" at {url}" if culprit == "address" else ""
    said = " in a reply of status 200" if is_in_body else ""
    detail = _moved(headers) if 300 <= status < 400 else shown_error(body)
    return CallError(
        f"HTTP {status}{place}{said}" + (f": {detail}" if detail else ""),
        error_class="http",
        is_transient=_is_transient(status),
        retry_after_s=retry_after(headers.get("Retry-After"), headers),
        culprit=culprit,
        refused=_refused(status, text) if culprit is None else None,
        status=status,
        advice=_advice(status) if culprit == "address" else None,
    )


def error_inside(body: bytes) -> int | None:
    """The status that a successful reply's body holds instead of what was asked for; else None.

    Gateways pass on a failure of the model behind them as `{"error": {"code": 401, …}}` under
    status 200, or without a code.
    """
    try:
        value = parsed(body)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    reply = cast("dict[str, object]", value)
    error = reply if reply.get("object") == "error" else reply.get("error")
    if not error or "choices" in reply or "data" in reply:
        return None
    # In words only: those that name a setting count as a refusal, all else as the server's failure.
    text = _searched(body)
    unsaid = 400 if _BAD_KEY.search(text) or _NO_MODEL.search(text) else 500
    if not isinstance(error, dict):
        return unsaid
    fields = cast("dict[str, object]", error)
    codes = (str(fields.get(name)) for name in ("code", "status", "status_code"))
    return next((int(code) for code in codes if re.fullmatch("[45][0-9][0-9]", code)), unsaid)


def shown_error(body: bytes) -> str:
    """An error's own words, on one line."""
    if is_html(body):
        return quoted(body)
    return one_line(_message_in(body) or decoded(body))


def retry_after(value: str | None, headers: Mapping[str, str]) -> float | None:
    """Seconds that a `Retry-After` asks to wait: a number, or a date against the reply's own date.

    Args:
        value: The header's value.
        headers: The reply's headers; `Date` is the server's clock, which need not be ours.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = email.utils.parsedate_to_datetime(value)
            now = email.utils.parsedate_to_datetime(headers.get("Date", ""))
            seconds = (until - now).total_seconds()
        except (ValueError, TypeError):
            return None
    return max(seconds, 0.0) if seconds < float("inf") else None


def _is_transient(status: int) -> bool:
    return (status >= 500 and status not in _FINAL_STATUS) or status in _TRANSIENT_STATUS


def _culprit(status: int, text: str) -> Culprit | None:
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(text)):
        return "key"
    if status in (400, 413, 422, 500) and _WINDOW.search(text):
        return "window"
    if status in (400, 404, 422) and _NO_MODEL.search(text):
        return "model"
    if status in (400, 404, 422) and not _refused(status, text) and _OTHER_MODEL.search(text):
        return "model"
    return "address" if 300 <= status < 400 or status in (404, 405, 407) else None


def _refused(status: int, text: str) -> RequestPart | None:
    """The part of the request that is not taken; the first that the text names."""
    if status in (500, 501):
        # May be anything: only what says so is a refusal.
        is_schema = _UNSUPPORTED.search(text) and _PARTS[-1][1].search(text)
        return "response_format" if is_schema else None
    if status not in (400, 422):
        return None
    if not _REFUSED.search(text):
        return "response_format" if _SCHEMA.search(text) else None
    found: list[tuple[int, RequestPart]] = [
        (hit.start(), part) for part, name in _PARTS if (hit := name.search(text))
    ]
    return min(found, key=lambda place: place[0])[1] if found else None


def _advice(status: int) -> str:
    is_moved = 300 <= status < 400
    # Not followed: a login would go along, and a POST can become a GET on the way.
    return "give the address that it is sent on to" if is_moved else NO_API


def _moved(headers: Mapping[str, str]) -> str:
    location = headers.get("Location")
    return f"sent on to {one_line(without_password(location))}" if location else "sent on"


def _searched(body: bytes) -> str:
    """What is looked at for a meaning, in lower case; no page and no route says anything."""
    if is_html(body):
        return ""
    text = _message_in(body) or decoded(body)
    codes = " ".join(_codes_in(body))
    return _ROUTE.sub(" ", f"{codes} {text}"[:_READ_LIMIT].lower())


def _error_in(body: bytes) -> object:
    """What stands for the error: the value of `error`, `message` or `detail`, or all of it."""
    try:
        value = parsed(body)
    except ValueError:
        return None
    if isinstance(value, dict):
        return cast("dict[str, object]", value).get("error", cast("object", value))
    return value


def _message_in(body: bytes) -> str | None:
    """The message of an error body: `{"error": {"message": …}}`, `{"message": …}` and such."""
    value = _error_in(body)
    for name in ("message", "detail", "error"):
        if isinstance(value, dict):
            value = cast("dict[str, object]", value).get(name, cast("object", value))
    return value if isinstance(value, str) else None


def _codes_in(body: bytes) -> list[str]:
    """The words for machines beside a message, such as `model_not_found` or the name of a part."""
    value = _error_in(body)
    if not isinstance(value, dict):
        return []
    fields = cast("dict[str, object]", value)
    found = (fields.get(name) for name in ("param", "code", "type"))
    return [word for word in found if isinstance(word, str)]
