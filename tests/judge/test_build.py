"""Judges by their spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from judge.build import JudgeConfig, build_judge
from judge.cache import CachedJudge
from judge.errors import JudgeUsageError
from judge.lifecycle import close_judge, probe_judge
from tests.judge.test_replay import TASK
from tests.support.endpoints import MODEL
from tests.support.judge_server import judge_server
from tests.support.judges import ScriptedJudge
from tests.support.sessions import make_session

if TYPE_CHECKING:
    from pathlib import Path


async def test_a_vllm_judge_takes_its_settings_from_the_configuration(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("{registry} {question}", encoding="utf-8")

    plain = build_judge("vllm", JudgeConfig(model="m", policy="meaning"))
    own = build_judge("vllm", JudgeConfig(prompt_file=prompt))

    assert (plain.fingerprint.model, plain.fingerprint.policy) == ("m", "meaning")
    assert own.fingerprint.policy == "file"
    for judge in (plain, own):
        await close_judge(judge)


async def test_settings_in_brackets_hold_for_one_judge_of_a_vote() -> None:
    judge = build_judge(
        "vote:majority:vllm+vllm(policy=meaning)+vllm(model=org/m-2,url=http://h:1)", JudgeConfig()
    )

    assert judge.fingerprint.policy == "majority"
    assert len(set(judge.fingerprint.members)) == 3
    await close_judge(judge)


async def test_a_key_goes_to_no_server_but_its_own() -> None:
    with judge_server() as own, judge_server() as other, judge_server() as third:
        members = f"vllm+vllm(url={other.url})+vllm(url={third.url},key_variable=THIRD)"
        config = JudgeConfig(
            url=own.url, model=MODEL, api_key="k1", read_variable={"THIRD": "k3"}.get
        )
        judge = build_judge(f"vote:majority:{members}", config)
        await probe_judge(judge)
        await close_judge(judge)

    assert own.keys == {"Bearer k1"}
    assert other.keys == {None}
    assert third.keys == {"Bearer k3"}


async def test_a_replayed_log_is_read_at_once(tmp_path: Path) -> None:
    session = make_session(tmp_path / "log", ScriptedJudge(["a"]), task=TASK)
    await session.begin()
    await session.ask("Which a?", meta={})
    await session.close("disconnected")

    judge = build_judge(f"replay:{tmp_path / 'log'}", JudgeConfig())

    assert (await judge.decide("Which a?", TASK.registry)).source == "replay"


async def test_a_cache_is_put_before_the_judge_where_one_is_named(tmp_path: Path) -> None:
    judge = build_judge("vllm", JudgeConfig(cache_path=tmp_path / "cache.db"))

    assert isinstance(judge, CachedJudge)
    await close_judge(judge)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("vlm", "unknown judge 'vlm': embedded, vllm, replay:FILE or vote:"),
        ("", "unknown judge ''"),
        ("replay", "unknown judge 'replay'"),
        ("replay:/nowhere/log", "cannot be replayed"),
        ("vote", "unknown judge 'vote'"),
        ("vote:most:vllm+vllm", "unknown vote 'most': majority or unanimous"),
        ("vote:majority:vllm", "two judges or more"),
        ("vote:majority:vllm+replay:x", "unknown judge 'replay:x': embedded or vllm, in a vote"),
        ("vllm(policy=strict)", "unknown judge policy 'strict'"),
        ("vllm(seed=3)", "'seed=3' is none of url=…, model=…, policy=…, key_variable=…"),
        ("vllm(model=)", "'model=' is none of"),
        ("vllm(key_variable=NOWHERE)", "the environment has no variable NOWHERE"),
        ("embedded(model=x)", "unknown judge"),
        ("vllm(url=http://me:secret@h,seed=3)", "judge 'vllm(url=http://me:***@h,seed=3)'"),
    ],
)
def test_a_spec_that_names_no_judge_is_refused(spec: str, error: str) -> None:
    with pytest.raises(JudgeUsageError) as refused:
        build_judge(spec, JudgeConfig())

    assert error in str(refused.value)


def test_the_key_is_not_shown_by_the_configuration() -> None:
    assert "s3cret" not in repr(JudgeConfig(api_key="s3cret"))
