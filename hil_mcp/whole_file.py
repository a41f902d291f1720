"""Write a file whole or not at all: whoever reads it finds the old text or the new one."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Write beside the file, then put it in the file's place.

    Args:
        path: In a folder that is there.
        text: Written as UTF-8; what UTF-8 cannot hold is written as a backslash escape.
        mode: Permissions of the file, less the umask.

    Raises:
        OSError: It cannot be written; what stood there still stands.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
