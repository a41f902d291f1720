"""The way out to a server: whether a proxy of the user's environment stands on it.

Decided here and not by the HTTP client, so that a failure on the way can name the variable.
"""

from __future__ import annotations

import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judge.address import without_password

if TYPE_CHECKING:
    from judge.address import ServerAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A proxy that the environment asks for."""

    url: str
    variable: str
    """Where it is set, for a message."""

    @property
    def shown(self) -> str:
        """What a message says of it; no password."""
        return f"the proxy {without_password(self.url)!r} of {self.variable}"


def proxy_for(address: ServerAddress) -> Proxy | None:
    """The proxy between here and a server; None for none.

    A server on this machine is asked directly: a proxy variable must not carry the questions of a
    local judge elsewhere.
    """
    if address.is_loopback or urllib.request.proxy_bypass(address.host):
        return None
    proxies = urllib.request.getproxies()
    for name in (address.base.partition("://")[0], "all"):
        url = proxies.get(name)
        if url:
            return Proxy(
                url=url if "://" in url else f"http://{url}",
                variable=f"{name}_proxy (or {name.upper()}_PROXY)",
            )
    return None
