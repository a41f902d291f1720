"""One file over HTTP into a partial file that a later try goes on with."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

from task_store.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all if known

_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where one file is.

    Attributes:
        shown: The address as its source writes it, for errors.
        url: http or https.
        headers: Sent to the host of `url` alone; a redirect to another host loses the login.
        size_bytes: None when nobody says.
        is_verified: Whether a digest is compared at the end, so that the file may be gone on with
            even if its host does not say whether it is still the same.
    """

    shown: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict["str", "str"])
    size_bytes: int | None = None
    is_verified: bool = False


class _TransientError(Exception):
    """Worth another try."""


class Downloader:
    """Downloads, each with another try where the trouble may pass.

    Args:
        attempts: Tries in a row that bring no byte before it gives up, at least 1.
        timeout_s: Longest silence of the other side, in seconds.
        sleep: Waits that many seconds.
    """

    def __init__(
        self,
        *,
        attempts: int = 5,
        timeout_s: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._attempts = attempts
        self._sleep = sleep
        self._client = httpx.Client(timeout=timeout_s, follow_redirects=True)

    def close(self) -> None:
        """End all connections."""
        self._client.close()

    def download(self, address: Address, partial: Path, on_progress: Progress) -> None:
        """Bring `partial` to the whole file, from where it stands.

        Args:
            address: Of the file.
            partial: Holds its beginning, or is not there yet. A file beside it, with `.etag`
                added to the name, remembers which version it is the beginning of.
            on_progress: Told after each piece.

        Raises:
            FetchError: The host refuses, or the tries are used up; `partial` stays.
        """
        failures = 0
        while True:
            before = _size(partial)
            try:
                self._continue(address, partial, on_progress)
            except (_TransientError, httpx.TransportError) as exc:
                failures = 1 if _size(partial) > before else failures + 1
                if failures >= self._attempts:
                    reason = str(exc) or type(exc).__name__
                    raise FetchError(
                        address.shown, f"{reason}; the next try goes on from {_size(partial)} bytes"
                    ) from exc
                self._sleep(min(2.0**failures, _LONGEST_WAIT_S))
            except (httpx.HTTPError, httpx.InvalidURL) as exc:
                raise FetchError(address.shown, str(exc)) from exc
            else:
                return

    def _continue(self, address: Address, partial: Path, on_progress: Progress) -> None:
        tag_file = partial.with_name(partial.name + ".etag")
        tag = tag_file.read_text(encoding="utf-8") if tag_file.exists() else ""
        have = _size(partial) if tag or address.is_verified else 0
        if have and have == address.size_bytes:
            on_progress(have, have)
            return
        headers = {**address.headers, "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
            if tag:
                headers["If-Range"] = tag
        with self._client.stream("GET", address.url, headers=headers) as response:
            _check_status(response, address, partial)
            if not _goes_on(response, have):
                have = 0
                tag_file.write_text(_strong_tag(response), encoding="utf-8")
            total = address.size_bytes or _total(response, have)
            with partial.open("ab" if have else "wb") as out:
                for piece in response.iter_bytes():
                    out.write(piece)
                    have += len(piece)
                    on_progress(have if total is None else min(have, total), total)
                    if total is not None and have > total:
                        return
            if total is not None and have < total:
                raise _TransientError("the connection ended early")


def _check_status(response: httpx.Response, address: Address, partial: Path) -> None:
    status = response.status_code
    if status == _RANGE_NOT_SATISFIABLE:
        # The beginning that is here is no beginning of the file that is there.
        partial.unlink(missing_ok=True)
        raise _TransientError("the file there has become shorter")
    if status in _TRANSIENT:
        raise _TransientError(f"answered {status} {response.reason_phrase}")
    if not response.is_success:
        raise FetchError(address.shown, f"answered {status} {response.reason_phrase}")


def _goes_on(response: httpx.Response, have: int) -> bool:
    content_range = response.headers.get("Content-Range", "")
    is_partial = response.status_code == _PARTIAL_CONTENT
    return is_partial and content_range.startswith(f"bytes {have}-")


def _strong_tag(response: httpx.Response) -> str:
    """The version of the file as `If-Range` may name it; empty when the host gives none."""
    tag: str = response.headers.get("ETag", "")
    return "" if tag.startswith("W/") else tag


def _total(response: httpx.Response, have: int) -> int | None:
    length = response.headers.get("Content-Length")
    return have + int(length) if length is not None and length.isdecimal() else None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
