"""Addresses of files as the sources write them. Not checked here: fetching says what is wrong."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_AFTER_PATH = re.compile(r"[?#].*", re.DOTALL)


def scheme_of(address: str) -> str:
    """The scheme in lower case; empty for a local path."""
    found = _SCHEME.match(address)
    return found[1].lower() if found else ""


def file_name_of(address: str) -> str:
    """The last part of the path; empty when it ends in a folder."""
    path = _AFTER_PATH.sub("", address) if scheme_of(address) else address
    return "" if path.endswith("/") else PurePosixPath(path).name
