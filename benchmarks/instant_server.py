"""hil-mcp's own server with a judge that decides at once: what asking costs beside the judge."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from hil_mcp.judging import BackgroundJudge
from hil_mcp.modes import Mode
from hil_mcp.serving import serve_stdio
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


async def main(log_path: Path) -> None:
    task = TaskStore(log_path.parent).get("lockers_late")
    judge = BackgroundJudge(InstantJudge(), None)
    conditions = SessionConditions(mode=Mode.ASK_HUMAN, prompt_digest="bench")
    session = Session(task, conditions, SessionLog(log_path), judge, settled=judge.settled)
    await serve_stdio(session, [ask_human(session)], judge)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
