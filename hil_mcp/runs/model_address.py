"""The one endpoint that a proxy forwards to, and how an agent's key becomes the real one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes, urlsplit

from hil_mcp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import SecretStr

Headers = list[tuple[bytes, bytes]]

_KEY_HEADERS = (b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key")
_DOTS = (b".", b"..")


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """Scheme, host and port, and a path that stands before every request's own."""

    origin: str
    host: bytes
    """As the Host header has it."""
    prefix: bytes

    @classmethod
    def parse(cls, endpoint: str) -> EndpointAddress:
        """Read `http[s]://HOST[:PORT][/PATH]`.

        Raises:
            ConfigError: It is anything else.
        """
        wrong = ConfigError(f"model endpoint {endpoint!r}: give it as https://HOST[:PORT][/PATH]")
        try:
            parts = urlsplit(endpoint)
            host, _ = parts.hostname, parts.port
        except ValueError as exc:
            raise wrong from exc
        extra = parts.query or parts.fragment or "@" in parts.netloc
        if parts.scheme not in ("http", "https") or not host or extra or not endpoint.isascii():
            raise wrong
        return cls(
            origin=f"{parts.scheme}://{parts.netloc}",
            host=parts.netloc.encode(),
            prefix=parts.path.rstrip("/").encode(),
        )

    def target(self, path: bytes, query: bytes) -> bytes | None:
        """Path and query of a request to the endpoint; None where they would leave its path."""
        segments = unquote_to_bytes(path).replace(b"\\", b"/").split(b"/")
        if not path.startswith(b"/") or any(segment in _DOTS for segment in segments):
            return None
        whole = self.prefix + path
        return whole + b"?" + query if query else whole


class KeyExchange:
    """Puts the real key where an agent has put its placeholder, and takes it out on the way back.

    Without a real key everything passes as it is.
    """

    def __init__(self, *, real_key: SecretStr | None, placeholder: str) -> None:
        """Prepare.

        Raises:
            ConfigError: The key or the placeholder cannot be sent in a header.
        """
        self._real: bytes | None = None
        self._placeholder = placeholder.encode()
        if real_key is None:
            return
        secret = real_key.get_secret_value()
        for name, value in (("API key", secret), ("placeholder", placeholder)):
            if not value.isascii() or not value.isprintable() or not value.strip():
                raise ConfigError(f"the model's {name} is empty or has characters no key has")
        self._real = secret.encode()

    def outward(self, headers: Headers) -> Headers:
        """Headers with the real key."""
        if self._real is None:
            return headers
        return [(name, value.replace(self._placeholder, self._real)) for name, value in headers]

    def outward_query(self, query: bytes) -> bytes:
        """A query whose `key` is the real one."""
        if self._real is None or self._placeholder not in query:
            return query
        fields = query.split(b"&")
        swapped = (
            field.replace(self._placeholder, self._real) if field.startswith(b"key=") else field
            for field in fields
        )
        return b"&".join(swapped)

    def inward(self, text: bytes) -> bytes:
        """A header or an error's text without the real key: some servers repeat what they got."""
        return text if self._real is None else text.replace(self._real, self._placeholder)

    def credential(self, headers: Iterable[tuple[bytes, bytes]], query: bytes) -> str | None:
        """What stands for the key of a request.

        Returns:
            None where there is a real key and the request does not carry the placeholder.
        """
        given = [value for name, value in headers if name in _KEY_HEADERS]
        given += [field for field in query.split(b"&") if field.startswith(b"key=")]
        if self._real is not None:
            return "placeholder" if any(self._placeholder in each for each in given) else None
        return hashlib.sha256(b"\n".join(given)).hexdigest()
