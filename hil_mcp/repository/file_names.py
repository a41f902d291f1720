r"""File names between bytes and what an agent can read and send.

A name on Linux is bytes. Bytes that are not UTF-8 are shown as `\xNN`, and a path that an agent
sends with such an escape means that byte again. Some daemons carry arguments as JSON, so that a
path travels as plain ASCII with the shell's octal escapes and is put together inside.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb"\\x([89a-fA-F][0-9a-fA-F])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PLAIN = re.compile(rb"[A-Za-z0-9_./ @%+=:,-]")

UNPACK_PATH = 'path=$(printf "%b." "$1"); path=${path%.}\n'
"""Shell text that sets `path` from the first argument, made by `packed_path`."""


def shown(name: bytes) -> str:
    r"""A name as an agent sees it: UTF-8, other bytes and control characters as `\xNN`."""
    text = name.decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def name_of(text: str) -> bytes:
    r"""The bytes that a path from an agent means; the inverse of `shown` for bytes above 7F."""
    data = text.encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), data)


def packed_path(name: bytes) -> str:
    """A name as printable ASCII for `UNPACK_PATH`."""
    return "".join(chr(byte) if _PLAIN.match(bytes([byte])) else f"\\0{byte:03o}" for byte in name)
