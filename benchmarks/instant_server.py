"""hil-mcp's own server with a judge that decides at once: what asking costs beside the judge.

Over stdio, or over HTTP on the port that follows the log's path.
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from hil_mcp.judging import BackgroundJudge
from hil_mcp.modes import Mode
from hil_mcp.serving import bind, serve_http, serve_stdio
from hil_mcp.session import Session, SessionConditions
from hil_mcp.session_log import SessionLog
from hil_mcp.tools.ask_human import ask_human
from judge.verdict import JudgeFingerprint, RegistryView, Verdict
from task_store.store import TaskStore

_FINGERPRINT = JudgeFingerprint(backend="instant", model=None, policy="first")


class InstantJudge:
    """Matches every question with the first blocker."""

    fingerprint = _FINGERPRINT

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        return Verdict(
            blocker_id=registry.blockers[0].blocker_id,
            reason="the first",
            fingerprint=_FINGERPRINT.digest,
        )


TOKEN = "bench"


async def main(log_path: Path, port: int | None) -> None:
    task = TaskStore(log_path.parent).get("lockers_late")
    judge = BackgroundJudge(InstantJudge(), None)
    conditions = SessionConditions(mode=Mode.ASK_HUMAN, prompt_digest="bench")
    session = Session(task, conditions, SessionLog(log_path), judge, settled=judge.settled)
    tools = [ask_human(session)]
    if port is None:
        await serve_stdio(session, tools, judge)
        return
    with bind(f"127.0.0.1:{port}") as listener:
        await serve_http(
            session,
            tools,
            judge,
            listener=listener,
            token=TOKEN,
            on_serving=lambda _: None,
        )


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
