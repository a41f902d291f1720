"""From settings to a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.judging import BackgroundJudge
from judge.build import JudgeConfig, build_judge
from judge.lifecycle import probe_judge

if TYPE_CHECKING:
    from hil_mcp.settings import Settings


def judge_config(settings: Settings) -> JudgeConfig:
    """What the judge package needs to know of the settings."""
    key = settings.judge_api_key
    return JudgeConfig(
        url=settings.judge_url,
        model=settings.judge_model,
        api_key=key.get_secret_value() if key else None,
        policy=settings.judge_policy,
        prompt_file=settings.judge_prompt_file,
        cache_path=settings.home / "judge-cache.db",
    )


def background_judge(settings: Settings) -> BackgroundJudge:
    """The judge that the settings name, to be probed or loaded while the server answers.

    Raises:
        JudgeUsageError: No judge can be built from the settings.
    """
    judge = build_judge(settings.judge, judge_config(settings))
    return BackgroundJudge(judge, lambda: probe_judge(judge))
