"""Errors of clients: an agent's program or its configuration.

ClientError                    an agent's program is missing or failed to start (exit status 5)
├── ConfigFileError            its configuration file cannot be parsed, or cannot be written
├── UnknownClientError         no agent of that name (2)
└── UnsupportedError           the agent cannot do that: a scope, a transport, a headless run (2)
"""

from __future__ import annotations


class ClientError(Exception):
    """Root of what clients raises: the agent's program is missing, or did not start."""


class ConfigFileError(ClientError):
    """A configuration file that is left alone: names the file, the place and the way out."""


class UnknownClientError(ClientError):
    """No agent has that name."""


class UnsupportedError(ClientError):
    """The agent has no such thing: a configuration scope, a transport, a run without a person."""
