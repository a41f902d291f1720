"""What `hil-mcp run` costs beside the agent that it drives: CPU time and memory over 200 attempts.

The agent is the lightest of those from npm, its model answers at once, so that this is the run at
its worst. Its own CPU time is taken from runs of the bare agent against a bare MCP server. Both
come from the kernel's account of ended processes, children included.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import anyio

from clients.client import HttpServer
from clients.codex import CODEX
from hil_mcp.runs.cell_folder import host_listener
from tests.support.agents import agent_home, install_agents, run_agent
from tests.support.scripted_model import Call, Turn, model_endpoint, play
from tests.support.served_session import served_session

N_ATTEMPTS = 200
N_BARE = 20
CPU_BOUND = 1.0
MEMORY_BOUND = 1.1
_SCRIPT = play(
    Turn(calls=(Call("ask_human", {"question": "What is a late drop-off?"}),)),
    Turn(calls=(Call("submit_sql", {"query": "SELECT 1"}),)),
)


def main() -> int:
    """Measure both and print them; status 1 when a bound does not hold."""
    logging.disable(logging.INFO)
    with model_endpoint(_SCRIPT) as model:
        bare_s = _bare_cpu_s(model.url)
        all_s, memory = _run_cpu_s(model.url)
    ours_s = all_s - bare_s
    ratio = ours_s / bare_s
    growth = memory[-1] / memory[len(memory) // 4]
    print(f"CPU of the bare agent         {bare_s * 1000:7.0f} ms an attempt ({N_BARE} runs)")
    print(f"CPU of hil-mcp beside it      {ours_s * 1000:7.0f} ms an attempt ({N_ATTEMPTS})")
    print(f"ratio                         {ratio:7.2f}    bound {CPU_BOUND}")
    print(f"memory, last over first fourth{growth:7.2f}    bound {MEMORY_BOUND}")
    return int(ratio > CPU_BOUND or growth > MEMORY_BOUND)


def _bare_cpu_s(endpoint: str) -> float:
    """CPU seconds of one agent alone: its server and its model are threads and tasks of this."""

    async def runs() -> None:
        for _ in range(N_BARE):
            with agent_home() as home, host_listener() as listener:
                async with served_session(listener, home / "asked", token="right") as url:
                    server = HttpServer(url=url, token_variable="HIL_MCP_TOKEN")
                    await run_agent(
                        CODEX,
                        server=server,
                        endpoint=endpoint,
                        home=home,
                        environment={"HIL_MCP_TOKEN": "right"},
                    )

    before = _ended_children_s()
    anyio.run(runs)
    return (_ended_children_s() - before) / N_BARE


def _run_cpu_s(endpoint: str) -> tuple[float, list[int]]:
    """CPU seconds an attempt, all in all, and the runner's memory as it went on, in KiB."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, agent_home() as home:
        command = [
            *(sys.executable, "-m", "hil_mcp", "run", "--agent", "codex", "--judge", "embedded"),
            *("--tasks", "lockers_late", "--modes", "ask_human", "--passes", str(N_ATTEMPTS)),
            *("--model", "scripted", "--base-url", endpoint, "--workers", "2", "--json"),
            *("--out", f"{folder}/run"),
        ]
        environment = {
            "PATH": f"{install_agents()}:{os.environ['PATH']}",
            "HOME": str(home),
            "HIL_MCP_HOME": f"{folder}/home",
            "OPENAI_API_KEY": "dummy",
        }
        before = _ended_children_s()
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            memory: list[int] = []
            watching = threading.Thread(target=_watch, args=(process, memory))
            watching.start()
            assert process.stdout is not None
            document: dict[str, Any] = json.loads(process.stdout.read())
        watching.join()
        counted = document["modes"][0]["n_counted"]
        if counted != N_ATTEMPTS:
            raise SystemExit(f"only {counted} of {N_ATTEMPTS} attempts count")
        return (_ended_children_s() - before) / N_ATTEMPTS, memory


def _watch(process: subprocess.Popen[bytes], memory: list[int]) -> None:
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status")
        try:
            line = next(each for each in status.read_text().split("\n") if "VmRSS" in each)
        except (OSError, StopIteration):
            break
        memory.append(int(line.split()[1]))
        time.sleep(1)


def _ended_children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
