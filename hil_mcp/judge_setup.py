"""From settings to a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.judging import BackgroundJudge
from hil_mcp.settings import variables
from judge.build import JudgeConfig, build_judge
from judge.lifecycle import prepare_judge

if TYPE_CHECKING:
    from hil_mcp.settings import Settings
    from judge.embedder import Embedder
    from task_store.records import Registry


def judge_config(settings: Settings, embedder: Embedder | None = None) -> JudgeConfig:
    """What the judge package needs to know of the settings.

    Args:
        settings: The user's.
        embedder: Shared with the search over business rules.
    """
    key = settings.judge_api_key
    # The embedded judge is faster than a look into a cache.
    cache_path = None if settings.judge == "embedded" else settings.home / "judge-cache.db"
    return JudgeConfig(
        url=settings.judge_url,
        model=settings.judge_model,
        api_key=key.get_secret_value() if key else None,
        read_variable=lambda name: variables([name]).get(name),
        policy=settings.judge_policy,
        prompt_file=settings.judge_prompt_file,
        cache_path=cache_path,
        embedder=embedder,
    )


def background_judge(settings: Settings, registry: Registry, embedder: Embedder) -> BackgroundJudge:
    """The judge that the settings name, to be probed or loaded while the server answers.

    Raises:
        JudgeUsageError: No judge can be built from the settings.
    """
    judge = build_judge(settings.judge, judge_config(settings, embedder))
    return BackgroundJudge(judge, lambda: prepare_judge(judge, registry))
