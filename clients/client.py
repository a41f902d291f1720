"""What an agent is to hil-mcp: how it is told of a server, and how it is run without a person.

An agent is a `Client`: a name, a `Registration`, and a `Headless` where it can be run unattended.
Nothing here starts a process or touches a file; a registration says what would be written, a
headless run what would be started, and both are carried out elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clients.transcript import Transcript

SERVER_NAME = "hil"
"""The server's name in every agent. Short: agents put it before each tool's name, and cut."""
ASK_TOOL = "ask_human"

CALL_LIMIT_S = 600
"""The time that agents are told to wait for one call; replies come far sooner."""
STARTUP_LIMIT_S = 60

FOLDER_VARIABLES = (
    *("APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"),
)
"""Environment variables by which users move agents' configuration folders."""

Scope: TypeAlias = Literal["user", "project"]
ConfigFormat: TypeAlias = Literal["json", "toml"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioServer:
    """A server that the agent starts."""

    command: str
    """Absolute path of an interpreter: agents start servers with another PATH than a shell's."""
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Added to what the agent passes on, which is next to nothing in some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """A server that runs already."""

    url: str
    token_variable: str | None = None
    """Environment variable, in the agent's environment, that holds the bearer token."""


Server: TypeAlias = StdioServer | HttpServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where configuration files are looked for."""

    home: Path
    """The user's home folder."""
    project: Path
    """The project's folder."""
    platform: str
    """As `sys.platform` has it."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those of `FOLDER_VARIABLES` that are set."""

    def folder(self, variable: str, default: Path) -> Path:
        """The folder that a variable names, or the default."""
        value = self.variables.get(variable)
        return Path(value) if value else default


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigTarget:
    """One place in one file."""

    path: Path
    format: ConfigFormat
    keys: tuple[str, ...]
    """The path of keys to the table of servers, the server's own name left out."""


class Registration(Protocol):
    """How an agent is told of a server."""

    def target(self, scope: Scope, places: Places) -> ConfigTarget:
        """Where the entry goes.

        Raises:
            UnsupportedError: The agent has no configuration in that scope.
        """
        ...

    def entry(self, server: Server) -> Mapping[str, object]:
        """The entry as the agent reads it: JSON values only.

        Raises:
            UnsupportedError: The agent cannot use that transport.
        """
        ...

    def next_steps(self, scope: Scope) -> tuple[str, ...]:
        """What the user does next, a sentence or command each."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model that an agent uses."""

    name: str | None = None
    """As the agent has it; None for the one that it uses by itself."""
    base_url: str | None = None
    """Address of another endpoint than the vendor's, without the API's path."""
    key: str | None = field(default=None, repr=False)
    """The API key; None when the environment brings a login of the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Where an agent finds out who its user is."""

    variables: tuple[str, ...]
    """Environment variables that hold a key, or the address that the key is for."""
    files: tuple[str, ...] = ()
    """Files that hold a login, from the home folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One unattended run of an agent."""

    server: Server
    model: Model
    prompt: str
    workspace: Path
    """The working directory."""
    home: Path
    """An empty folder of this run's own: HOME, and all of the agent's configuration."""
    environment: Mapping[str, str]
    """PATH, and whatever else the agent is to have; nothing else is inherited."""
    max_turns: int | None = None
    """Where the agent has such a limit itself; the caller enforces its own from outside."""
    max_cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to start for a job."""

    arguments: tuple[str, ...]
    """After the program's name."""
    environment: Mapping[str, str]
    """The whole environment."""
    stdin: str
    """All of the standard input; it is closed after that."""
    files: Mapping[Path, str] = field(default_factory=dict["Path", str])
    """Files to write first, for the owner's eyes only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What an ended run left."""

    exit_status: int | None
    """As the system gives it, negative for a signal; None when its time ran out."""
    stdout: str
    stderr: str
    home: Path

    def complaint(self) -> str:
        """What a run that told nothing else leaves as its reason: stderr, or how it ended."""
        if self.exit_status is None:
            return "its time ran out"
        return self.stderr.strip() or f"exit status {self.exit_status}"


class Headless(Protocol):
    """How an agent is run without a person: its own asking, web and memory features are off."""

    @property
    def program(self) -> str:
        """The program's name, looked up on PATH."""
        ...

    @property
    def login(self) -> Login:
        """What of the user's own it needs to reach its model."""
        ...

    @property
    def endpoint(self) -> str | None:
        """The vendor's own endpoint for API keys, without the API's path.

        Used unless `Model.base_url` says otherwise. None where there is no single one, or where
        the agent cannot be sent to any other.
        """
        ...

    def launch(self, job: Job) -> Launch:
        """What to start."""
        ...

    def read(self, finished: Finished) -> Transcript:
        """What the run says about itself. Never raises: an unreadable line is counted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One agent."""

    name: str
    """As the command line has it."""
    title: str
    registration: Registration
    headless: Headless | None = None
