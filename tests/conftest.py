"""What every test gets: a scrubbed environment, an empty home, the shared data if present."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REAL_WORLD = {
    "bulk": "asks ten thousand questions",
    "agents": "drives a real coding agent",
    "docker": "needs a Docker daemon",
    "vllm": "needs a vLLM server",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, why in _REAL_WORLD.items():
        parser.addoption(f"--run-{name}", action="store_true", help=f"run tests that {why}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for name, why in _REAL_WORLD.items():
            if item.get_closest_marker(name) and not config.getoption(f"--run-{name}"):
                item.add_marker(pytest.mark.skip(reason=f"{why}: pass --run-{name}"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HIL_MCP_HOME, empty; no other HIL_MCP_ variable survives into a test."""
    for name in list(os.environ):
        if name.startswith("HIL_MCP_"):
            monkeypatch.delenv(name)
    path = tmp_path / "home"
    monkeypatch.setenv("HIL_MCP_HOME", str(path))
    return path


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of shared benchmark data beside the checkout; skips where it is absent."""
    path = Path(__file__).resolve().parents[1].parent / "shared"
    if not (path / "cases.json").is_file():
        pytest.skip("the shared benchmark data is not beside this checkout")
    return path
