"""One live call through a real agent: does it reach the server, and does an answer come back?

All agents tried end with success when the server is broken, so that nothing but a call that went
all the way proves anything. The agent runs in a home of its own with the user's login linked in,
on a starter task, and asks one question.
"""

from __future__ import annotations

import secrets
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clients.client import SERVER_NAME, Job, Model, StdioServer
from clients.run_client import headless_of, link_login, run_client
from hil_mcp.events import Delivery, Question
from hil_mcp.session_reader import read_session

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clients.client import Client
    from clients.transcript import Transcript

TASK_ID = "lockers_late"
_PROMPT = f"""\
This is a test of a connection. The MCP server "{SERVER_NAME}" has a tool named ask_human. Call it
once with this question: At what time of day does a drop-off start to be late? Do nothing else, and
end with the answer that you got.
"""
_LIMIT_S = 300
_LIMIT_BYTES = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that has to hold.

    Attributes:
        name: What.
        passed: Whether it does; None when the agent does not tell.
        detail: What was seen.
    """

    name: str
    passed: bool | None
    detail: str


async def check_client(
    client: Client,
    *,
    program: Path,
    model: Model,
    environment: Mapping[str, str],
    user_home: Path,
    hil_home: Path,
) -> tuple[Check, ...]:
    """Have an agent ask one question, and look at both ends.

    Args:
        client: The agent.
        program: Its program.
        model: The model; what is left open is the agent's own choice.
        environment: PATH and the variables of the user's login.
        user_home: Where the user's login files are.
        hil_home: `HIL_MCP_HOME`.

    Raises:
        UnsupportedError: The agent cannot be run without a person.
        ClientError: The program cannot be started.
    """
    folder = hil_home / "doctor" / secrets.token_hex(8)
    workspace, home, log = folder / "work", folder / "home", folder / "session.jsonl"
    for path in (workspace, home):
        path.mkdir(parents=True, mode=0o700)
    try:
        link_login(headless_of(client), user_home=user_home, home=home)
        serve = ("-m", "hil_mcp", "serve", "--task", TASK_ID, "--log", str(log))
        job = Job(
            server=StdioServer(
                command=sys.executable, args=serve, env={"HIL_MCP_HOME": str(hil_home)}
            ),
            model=model,
            prompt=_PROMPT,
            workspace=workspace,
            home=home,
            environment=environment,
        )
        finished = await run_client(
            client, job, program=program, limit_s=_LIMIT_S, limit_bytes=_LIMIT_BYTES
        )
        return _checks(headless_of(client).read(finished), log)
    finally:
        shutil.rmtree(folder)


def _checks(transcript: Transcript, log: Path) -> tuple[Check, ...]:
    record = read_session(log) if log.exists() else None
    questions = record.of(Question) if record else []
    lost = [each for each in record.of(Delivery) if not each.delivered] if record else []
    answers = ", ".join(question.response for question in questions)
    failure = transcript.failure
    return (
        Check(
            name="the agent ran",
            passed=failure is None,
            detail=_version(transcript) if failure is None else failure.message,
        ),
        Check(
            name="it had ask_human at the start",
            passed=transcript.offered,
            detail="" if transcript.offered is not None else "it does not tell",
        ),
        Check(
            name="its question reached the server",
            passed=bool(questions),
            detail=f"{len(questions)} in the log, {transcript.ask_calls} in its own output",
        ),
        Check(
            name="the answer went back",
            passed=bool(questions) and not lost,
            detail=answers,
        ),
        Check(
            name="both ends agree",
            passed=len(questions) == transcript.ask_calls
            and not (transcript.denied or transcript.lost),
            detail=_failed_calls(transcript),
        ),
    )


def _failed_calls(transcript: Transcript) -> str:
    if transcript.denied is None or transcript.lost is None:
        return "it does not tell of calls that failed"
    return f"{transcript.denied} calls refused by the agent, {transcript.lost} lost on the way"


def _version(transcript: Transcript) -> str:
    parts = (transcript.version and f"version {transcript.version}", transcript.model)
    return ", ".join(part for part in parts if part)
