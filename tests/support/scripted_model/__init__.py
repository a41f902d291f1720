"""A model endpoint on loopback that plays a script: a stand-in for the model, never for the agent.

It speaks Anthropic messages, OpenAI responses, OpenAI chat completions and Gemini
generateContent, whichever the agent calls, and keeps every request it was sent.
"""

from __future__ import annotations

from tests.support.scripted_model.endpoint import ModelEndpoint, model_endpoint
from tests.support.scripted_model.script import (
    Behaviour,
    Call,
    Fault,
    ModelRequest,
    Turn,
    Usage,
    after_faults,
    play,
)

__all__ = [
    "Behaviour",
    "Call",
    "Fault",
    "ModelEndpoint",
    "ModelRequest",
    "Turn",
    "Usage",
    "after_faults",
    "model_endpoint",
    "play",
]
