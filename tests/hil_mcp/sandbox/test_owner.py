"""Which containers have lost their process, told by labels alone."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, cast

from hil_mcp.sandbox.docker import ContainerEntry, DockerDaemon
from hil_mcp.sandbox.owner import find_orphans, owner_labels, remove_orphans

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Listing:
    """The two calls of a daemon that the search for orphans makes."""

    def __init__(self, *labels: Mapping[str, str]) -> None:
        self.entries = [
            ContainerEntry(container_id=f"c{n}", name=f"n{n}", labels=each, is_running=True)
            for n, each in enumerate(labels)
        ]
        self.removed: list[str] = []

    def list_containers(self, label: str) -> tuple[ContainerEntry, ...]:
        return tuple(entry for entry in self.entries if label in entry.labels)

    def remove_container(self, name: str) -> None:
        self.removed.append(name)


def _labels_of_ended_process() -> dict[str, str]:
    code = (
        "from hil_mcp.sandbox.owner import owner_labels as o; print(o('ended')['hil-mcp.process'])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return {**owner_labels("ended"), "hil-mcp.process": process.stdout.decode().strip()}


def test_only_containers_of_ended_processes_of_this_machine_are_orphans() -> None:
    ended = _labels_of_ended_process()
    reused = {**owner_labels("reused"), "hil-mcp.process": f"{os.getpid()}@1"}
    elsewhere = {**ended, "hil-mcp.host": "another-machine", "hil-mcp.session": "elsewhere"}
    daemon = _Listing(owner_labels("mine"), ended, reused, elsewhere, {"other": "label"})

    found = find_orphans(cast("DockerDaemon", daemon))
    removed = remove_orphans(cast("DockerDaemon", daemon))

    assert [orphan.session_id for orphan in found] == ["ended", "reused"]
    assert removed == found
    assert daemon.removed == ["c1", "c2"]
