"""`tests/support/small_agent.py` as a client, so that runs can drive it like any other agent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from clients.client import (
    ASK_TOOL,
    Client,
    Finished,
    HttpServer,
    Job,
    Launch,
    Login,
)
from clients.opencode import OPENCODE
from clients.transcript import Transcript, failure_of, read_events

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = Path(__file__).with_name("small_agent.py")
KEY_VARIABLE = "SMALL_AGENT_API_KEY"


class _Event(BaseModel):
    type: str
    tool: str = ""
    text: str = ""
    message: str = ""


class _Headless:
    program = "small-agent"
    endpoint = None
    login = Login(variables=(KEY_VARIABLE,))

    def launch(self, job: Job) -> Launch:
        assert isinstance(job.server, HttpServer)
        settings: Mapping[str, object] = {
            "url": job.server.url,
            "token_variable": job.server.token_variable,
            "base_url": job.model.base_url,
            "model": job.model.name,
            "key": job.model.key,
        }
        return Launch(
            arguments=(),
            environment={
                **job.environment,
                "HOME": str(job.home),
                "SMALL_AGENT": json.dumps(settings),
            },
            stdin=job.prompt,
        )

    def read(self, finished: Finished) -> Transcript:
        events, unread = read_events(finished.stdout, _Event)
        calls = [event.tool for event in events if event.type == "tool_use"]
        ended = next((event for event in events if event.type == "end"), None)
        error = next((event.message for event in events if event.type == "error"), None)
        if error is None and ended is None:
            error = finished.complaint()
        return Transcript(
            ask_calls=calls.count(ASK_TOOL),
            tool_calls=len(calls),
            turns=None,
            input_tokens=None,
            output_tokens=None,
            cost_usd=None,
            model=None,
            version=None,
            final_text=ended.text if ended else "",
            offered=None,
            denied=0,
            lost=0,
            own_asks=0,
            unread_lines=unread,
            failure=None if error is None else failure_of(error),
        )


SMALL_AGENT = Client(
    name="small-agent",
    title="small agent",
    registration=OPENCODE.registration,
    headless=_Headless(),
)


def install_small_agent(folder: Path) -> Path:
    """A program of its own that starts the agent with this Python."""
    program = folder / "small-agent"
    program.write_text(f"#!{sys.executable} -ISu\n{PROGRAM.read_text(encoding='utf-8')}")
    program.chmod(0o755)
    return program
