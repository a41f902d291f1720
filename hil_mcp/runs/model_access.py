"""How an agent reaches its model: through the proxy with a key, or by itself with a login."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import SecretStr

from clients.run_client import headless_of
from hil_mcp.errors import ConfigError
from hil_mcp.settings import variables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clients.client import Client

_ADDRESS = "_BASE_URL"
_KEY = "_API_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """What an agent is given of the way to its model.

    Attributes:
        name: The model as the agent has it; None for the agent's own choice.
        endpoint: Where the proxy forwards to; None when the agent goes there by itself.
        key: The user's key, which the proxy puts in and the agent never sees.
        key_variable: Where the agent looks for it; None for the agent's usual place.
        variables: The user's own, for an agent that goes there by itself.
        login_home: Home folder whose login files are linked into each attempt's home.
    """

    name: str | None
    endpoint: str | None
    key: SecretStr | None = None
    key_variable: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    login_home: Path | None = None


def access_by_login(client: Client, *, model: str | None, user_home: Path) -> ModelAccess:
    """The agent goes to its model by itself, as the user does."""
    given = variables(headless_of(client).login.variables)
    return ModelAccess(name=model, endpoint=None, variables=given, login_home=user_home)


def access_by_key(client: Client, *, model: str | None, base_url: str | None) -> ModelAccess:
    """The agent reaches its model through the proxy.

    Args:
        client: The agent.
        model: As the agent has it.
        base_url: Another endpoint than the vendor's, without the API's own path.

    Raises:
        ConfigError: Neither endpoint nor key is known; names the variables.
    """
    headless = headless_of(client)
    given = variables(headless.login.variables)
    addresses = [value for name, value in given.items() if name.endswith(_ADDRESS) and value]
    endpoint = base_url or next(iter(addresses), None) or headless.endpoint
    if endpoint is None:
        raise ConfigError(
            f"{client.title}: where its model is must be said: pass --base-url, or --login with "
            "--isolation none to let it go there by itself"
        )
    keys = [name for name in headless.login.variables if not name.endswith(_ADDRESS)]
    variable = next((name for name in keys if given.get(name)), None)
    if variable is None:
        raise ConfigError(
            f"{client.title}: no key for its model: set {' or '.join(keys)}, or pass --login with "
            "--isolation none to use the login of your home folder"
        )
    return ModelAccess(
        name=model,
        # Users have the address with the API's version, which every agent adds itself.
        endpoint=endpoint.rstrip("/").removesuffix("/v1"),
        key=SecretStr(given[variable]),
        key_variable=None if variable.endswith(_KEY) else variable,
    )
