"""What the attempts of one run share; built once, before the first of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from clients.client import Client
    from hil_mcp.prompts import PromptChoice
    from hil_mcp.run_folder import RunConditions
    from hil_mcp.runs.isolation import IsolationConfig
    from hil_mcp.runs.model_access import ModelAccess
    from hil_mcp.runs.model_proxy import ModelClient
    from hil_mcp.runs.model_traffic import Limits
    from hil_mcp.runs.session_endpoint import ServerParts


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What ends an agent from outside. Reaching one is the agent's doing, and counts."""

    time_limit_s: float
    idle_limit_s: float
    """Without output, a call or a word to its model."""
    model: Limits
    """Of what it may have of its model."""
    model_timeout_s: float
    """How long the model's endpoint may stay silent; that is the endpoint's doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """See the module.

    Attributes:
        cells_dir: Gets one folder for each agent that runs.
        http: For the proxies, which share its connections.
    """

    run_id: str
    client: Client
    program: Path
    access: ModelAccess
    isolation: IsolationConfig
    limits: RunLimits
    prompt: PromptChoice
    conditions: RunConditions
    servers: ServerParts
    cells_dir: Path
    http: ModelClient
    server_version: str
    git_revision: str | None
