"""Settings: flag, then `HIL_MCP_…`, then the file, then the default. The environment's one reader.

The file is `config.toml` in the home folder. Built once, in the CLI; below it each part gets its
own small record.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from hil_mcp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PREFIX = "HIL_MCP_"
TOKEN_VARIABLE = "HIL_MCP_TOKEN"  # noqa: S105  # the variable's name
_RELEASED_PREFIX = "HILBENCH_"
_RELEASED_NAMES = ("swe_image_archive_root", "swe_hf_bucket")


class Settings(BaseModel):
    """Everything that a user can set once for all commands."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    home: Path
    """Catalogue, caches, sessions and default run folder."""
    judge: str = "embedded"
    """`embedded`, `vllm`, `replay:FILE`, …"""
    judge_url: str = "http://127.0.0.1:8808"
    """Base address of an OpenAI-compatible server, with or without `/v1`."""
    judge_model: str = "casperhansen/llama-3.3-70b-instruct-awq"
    """The reference judge (docs/release.md, section 3)."""
    judge_api_key: SecretStr | None = None
    judge_policy: str = "release"
    judge_prompt_file: Path | None = None
    token: SecretStr | None = None
    """Bearer token of an HTTP session, for `serve --http`."""
    swe_image_archive_root: Path | None = None
    """Local tree of image archives; also by the release's `HILBENCH_SWE_IMAGE_ARCHIVE_ROOT`."""
    swe_hf_bucket: str | None = None
    """`OWNER/BUCKET` of the image archives; also by the release's `HILBENCH_SWE_HF_BUCKET`."""
    sandbox: Literal["docker", "bubblewrap", "local"] | None = None
    """Where repositories run; by default `docker` for images and `bubblewrap` for source trees."""
    sandbox_image: str | None = None
    """Image with git and the task's tools, for source trees under `docker`."""
    sandbox_network: str = "none"
    """Docker's name of the network that a task's container is in."""
    docker_host: str = "unix:///var/run/docker.sock"
    """Address of the Docker daemon; also by `DOCKER_HOST`."""


def load_settings(environ: Mapping[str, str] | None = None, **flags: object) -> Settings:
    """Build the settings.

    Args:
        environ: Environment to read; the process's own by default.
        flags: What the command line gave; None means not given.

    Raises:
        ConfigError: An unknown key, or a value that does not fit; names where it stands.
    """
    env = os.environ if environ is None else environ
    home = Path(str(flags.get("home") or env.get(_PREFIX + "HOME") or default_home())).expanduser()
    from_file = _read_file(home / "config.toml")
    known = Settings.model_fields
    from_env = {
        key.removeprefix(_PREFIX).lower(): value
        for key, value in env.items()
        if key.startswith(_PREFIX)
    }
    for origin, values in ((str(home / "config.toml"), from_file), ("environment", from_env)):
        for key in values:
            if key not in known:
                shown = key if values is from_file else _PREFIX + key.upper()
                raise ConfigError(f"{origin}: unknown setting {shown}; known: {', '.join(known)}")
    released = {
        name: env[_RELEASED_PREFIX + name.upper()]
        for name in _RELEASED_NAMES
        if env.get(_RELEASED_PREFIX + name.upper())
    }
    if env.get("DOCKER_HOST"):
        released["docker_host"] = env["DOCKER_HOST"]
    given = {key: value for key, value in flags.items() if value is not None}
    try:
        return Settings.model_validate({**from_file, **released, **from_env, **given, "home": home})
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"setting {place}: {first['msg'].lower()}") from exc


def default_home() -> Path:
    """The platform's folder for a user's data."""
    return Path(platformdirs.user_data_dir("hil-mcp", appauthor=False))


def child_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with `extra` laid over it, for a child process."""
    return {**os.environ, **extra}


def search_path() -> str:
    """Where this process looks for programs."""
    return os.environ.get("PATH", os.defpath)


def find_program(name: str) -> str | None:
    """Absolute path of a program on the search path, or None."""
    return shutil.which(name, path=search_path())


def variables(names: Iterable[str]) -> dict[str, str]:
    """Those of the named environment variables that are set, as they are."""
    return {name: os.environ[name] for name in names if name in os.environ}


def _read_file(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise ConfigError(f"{path}: cannot be read: {exc}") from exc
