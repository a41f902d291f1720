"""Where a judge's server is: an address as users paste it, and as a message may show it."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from judge.errors import JudgeUsageError
from judge.server_text import one_line

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_COMPLETIONS = "/chat/completions"
_VERSIONED = re.compile(r"/v\d+$")
# Up to the last @: a password with a slash in it makes no address, and is none to be shown either.
_ANY_PASSWORD = re.compile(r"(?P<before>//[^\s/?#:@]*):\S*@")
_PASSWORD = re.compile(r"(?P<before>//[^\s/?#:@]*):[^\s/?#]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """An OpenAI-compatible server."""

    base: str
    """What paths are added to, as in `https://HOST/v1`; no user, no password, no query."""
    query: str
    """Sent with every request, without the question mark; empty for none."""
    host: str
    """Name or number, without brackets."""
    login: tuple[str, str] | None
    """User and password that stood in the address."""

    def url(self, path: str) -> str:
        """The address of one path, such as `/models`."""
        return f"{self.base}{path}" + (f"?{self.query}" if self.query else "")

    def shown_url(self, path: str) -> str:
        """The same for a message: a query may hold a key."""
        return f"{self.shown}{path}" + ("?…" if self.query else "")

    @property
    def shown(self) -> str:
        """The base as a message shows it."""
        if self.login is None:
            return self.base
        scheme, _, rest = self.base.partition("://")
        return f"{scheme}://{one_line(self.login[0])}:***@{rest}"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, whatever name it goes by."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            number = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        mapped = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
        number = mapped or number
        return number.is_loopback or number.is_unspecified


def read_address(url: str) -> ServerAddress:
    """Read an address as a user gives it.

    `/v1` is added unless the path ends in a version, or is that of the completions themselves,
    which says exactly where they are.

    Raises:
        JudgeUsageError: It is not an http or https address that can be asked.
    """
    shown = _ANY_PASSWORD.sub(r"\g<before>:***@", url)
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as exc:
        # Python's own text may quote the password.
        raise JudgeUsageError(f"judge address {shown!r}: no such host or port") from exc
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host:
        raise JudgeUsageError(f"judge address {shown!r}: give it as http://HOST:PORT")
    if port == 0 or not _is_host(host):
        raise JudgeUsageError(f"judge address {shown!r}: no such host or port")
    path = parts.path.rstrip("/")
    if path.endswith(_COMPLETIONS):
        path = path.removesuffix(_COMPLETIONS)
    elif not _VERSIONED.search(path):
        path += "/v1"
    return ServerAddress(
        base=urlunsplit((parts.scheme, _place(host, port), path, "", "")),
        query=parts.query,
        host=host,
        login=_login(parts),
    )


def without_password(url: str) -> str:
    """Any text with an address in it, its password as `***`."""
    return _PASSWORD.sub(r"\g<before>:***@", url)


def _is_host(host: str) -> bool:
    if ":" in host:
        return True
    try:
        # What the system's resolver does with the name; empty and overlong parts fail.
        return host.isprintable() and " " not in host and bool(host.encode("idna"))
    except UnicodeError:
        return False


def _place(host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def _login(parts: SplitResult) -> tuple[str, str] | None:
    if parts.username is None:
        return None
    return unquote(parts.username), unquote(parts.password or "")
