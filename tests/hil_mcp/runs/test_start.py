"""What is checked before the first attempt: program, key, endpoint, isolation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clients.codex import CODEX
from clients.errors import ClientError, UnsupportedError
from clients.opencode import OPENCODE
from clients.qwen_code import QWEN_CODE
from clients.vscode import VSCODE
from hil_mcp.errors import ConfigError
from hil_mcp.runs.agent_program import agent_program, agent_version
from hil_mcp.runs.model_access import access_by_key, access_by_login
from tests.support.runs import carry_out, run_options
from tests.support.small_client import KEY_VARIABLE, SMALL_AGENT, install_small_agent


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_the_key_is_taken_from_the_agent_s_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    access = access_by_key(CODEX, model="m", base_url=None)

    assert access.key is not None
    assert access.key.get_secret_value() == "secret"
    assert "secret" not in repr(access)
    assert (access.endpoint, access.key_variable) == ("https://api.openai.com", None)


def test_an_address_with_the_api_s_version_is_the_same_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example/v1/")

    assert access_by_key(QWEN_CODE, model="m", base_url=None).endpoint == "https://models.example"
    given = access_by_key(QWEN_CODE, model="m", base_url="https://other.example/v1")
    assert given.endpoint == "https://other.example"


def test_a_missing_key_and_a_missing_endpoint_name_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConfigError, match="set CODEX_API_KEY or OPENAI_API_KEY"):
        access_by_key(CODEX, model="m", base_url=None)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with pytest.raises(ConfigError, match="pass --base-url"):
        access_by_key(OPENCODE, model="m", base_url=None)


def test_a_login_is_the_user_s_own_and_goes_round_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    access = access_by_login(CODEX, model="m", user_home=Path("/home/me"))

    assert (access.endpoint, access.login_home) == (None, Path("/home/me"))
    assert access.variables == {"OPENAI_API_KEY": "secret"}


async def test_a_login_and_a_closed_network_do_not_go_together(tmp_path: Path) -> None:
    options = run_options(install_small_agent(tmp_path), tmp_path / "run", "http://127.0.0.1:9")

    with pytest.raises(ConfigError, match="--login needs the open network"):
        await carry_out(replace(options, uses_login=True, isolation="bubblewrap"))

    assert not (tmp_path / "run").exists()


async def test_one_user_is_not_shared_by_attempts_that_run_at_once(tmp_path: Path) -> None:
    options = run_options(install_small_agent(tmp_path), tmp_path / "run", "http://127.0.0.1:9")
    shared = replace(options, isolation="user", isolation_user="nobody", n_workers=2)

    with pytest.raises(ConfigError, match="can read each other's files"):
        await carry_out(shared)


def test_a_program_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ClientError, match="codex is not on PATH: install Codex CLI"):
        agent_program(CODEX, None)
    with pytest.raises(ClientError, match="there is no such file"):
        agent_program(CODEX, tmp_path / "codex")
    with pytest.raises(UnsupportedError, match="cannot be run without a person"):
        agent_program(VSCODE, None)


async def test_the_version_is_the_program_s_own_and_a_broken_program_says_why(
    tmp_path: Path,
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'no such library' >&2\nexit 127\n")
    broken.chmod(0o755)

    assert await agent_version(SMALL_AGENT, install_small_agent(tmp_path)) == "1.0"
    with pytest.raises(ClientError, match="no such library"):
        await agent_version(SMALL_AGENT, broken)


async def test_a_run_without_a_key_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    options = run_options(install_small_agent(tmp_path), tmp_path / "run", "http://127.0.0.1:9")

    with pytest.raises(ConfigError, match=f"set {KEY_VARIABLE}"):
        await carry_out(options)

    assert not (tmp_path / "run").exists()
