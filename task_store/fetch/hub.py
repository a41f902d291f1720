"""Addresses on the Hugging Face hub, by huggingface_hub: its endpoint, login and API."""

# HfFileSystem has untyped parts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from task_store.errors import FetchError
from task_store.fetch.download import Address

if TYPE_CHECKING:
    from collections.abc import Generator

    from huggingface_hub import HfFileSystem

SCHEME = "hf"


class Hub:
    """Looks files up; what it has learnt of a folder holds for its own life.

    Args:
        endpoint: Base address; by default huggingface_hub's own, so `HF_ENDPOINT` counts.
    """

    def __init__(self, endpoint: str | None = None) -> None:
        self._endpoint = endpoint

    def address_of(self, source: str, *, is_verified: bool) -> Address:
        """Where a file is.

        Args:
            source: `hf://buckets/OWNER/BUCKET/PATH` or `hf://datasets/OWNER/NAME/PATH`.
            is_verified: As in `Address`.

        Raises:
            FetchError: It is not there, or the hub cannot be asked.
        """
        from huggingface_hub.utils import build_hf_headers

        with _translated(source):
            info = self._files.info(source)
            size = info["size"]
            return Address(
                shown=source,
                url=self._files.url(source),
                headers=build_hf_headers(),
                size_bytes=size if isinstance(size, int) else None,
                is_verified=is_verified,
            )

    def row_files(self, name: str, suffixes: tuple[str, ...]) -> list[str]:
        """The files of rows of a data set, as `hf://` addresses; those of `train` if it has any.

        Raises:
            FetchError: There is no such data set, it has no such files, or the hub cannot be asked.
        """
        source = f"{SCHEME}://datasets/{name}"
        with _translated(source):
            found = [str(path) for path in self._files.find(source)]
        rows = sorted(path for path in found if path.endswith(suffixes))
        rows = [path for path in rows if "train" in path.rpartition("/")[2]] or rows
        if not rows:
            raise FetchError(source, f"has no files that end in {' or '.join(suffixes)}")
        return [f"{SCHEME}://{path}" for path in rows]

    @cached_property
    def _files(self) -> HfFileSystem:
        from huggingface_hub import HfFileSystem

        # Not the cached instance: it would keep what another endpoint or login has said.
        return HfFileSystem(endpoint=self._endpoint, skip_instance_cache=True)


@contextmanager
def _translated(source: str) -> Generator[None]:
    import httpx2

    try:
        yield
    except FileNotFoundError as exc:
        reason = 'is not there, or needs a login: see "hf auth login"'
        raise FetchError(source, reason) from exc
    except (httpx2.HTTPError, OSError, ValueError, NotImplementedError) as exc:
        reason = str(exc).strip().partition("\n")[0] or type(exc).__name__
        raise FetchError(source, reason) from exc
