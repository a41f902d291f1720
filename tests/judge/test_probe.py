"""The probe: one known match, one known non-match, and a name for what is wrong."""

from __future__ import annotations

import httpx
import pytest

from judge.errors import JudgeSetupError
from judge.lifecycle import probe_judge
from judge.probe import KNOWN_NON_MATCH
from tests.support.endpoints import (
    Endpoint,
    Reply,
    Request,
    chat_judge,
    completion,
    prompt_of,
    verdict_text,
)
from tests.support.judges import ScriptedJudge


def _fit(request: Request) -> httpx.Response:
    return completion(verdict_text("none" if KNOWN_NON_MATCH in prompt_of(request) else "B1"))


async def test_a_fit_judge_passes_and_its_model_is_known() -> None:
    judge = chat_judge(Endpoint(_fit))

    await probe_judge(judge)

    assert judge.fingerprint.model_reported == "judge-model"


async def test_a_server_without_a_list_of_models_can_pass() -> None:
    await probe_judge(chat_judge(Endpoint(_fit, models=httpx.Response(404))))


async def test_a_server_that_is_busy_for_a_moment_is_asked_again() -> None:
    busy = httpx.Response(503, headers={"Retry-After": "1"})

    await probe_judge(chat_judge(Endpoint(_fit, refusals=[busy, httpx.ConnectError("reset")])))


async def test_a_server_that_fails_at_the_known_questions_is_not_called_a_wrong_model() -> None:
    with pytest.raises(JudgeSetupError, match=r"^server: no verdict on a known question: HTTP 500"):
        await probe_judge(chat_judge(Endpoint(lambda _: httpx.Response(500))))


@pytest.mark.parametrize(
    ("endpoint", "error"),
    [
        (
            Endpoint(_fit, models=["a/small", "b/large"]),
            "^model: 'judge-model' is not served at .*; served there: a/small, b/large$",
        ),
        (Endpoint(_fit, models=[]), "served there: nothing"),
        (Endpoint(_fit, context_tokens=512), "^window: 'judge-model' takes 512 tokens .* 6600"),
        (Endpoint(_fit, models=httpx.Response(401)), "^key: .* refuses the API key: HTTP 401"),
        (Endpoint(_fit, models=httpx.ConnectError("refused")), "^address: .*ConnectError"),
        (Endpoint(_fit, models=httpx.Response(200, content=b"<html>")), "^address: .*<html>"),
        (Endpoint(_fit, models=httpx.Response(500)), "^server: .* cannot answer now: HTTP 500"),
    ],
)
async def test_a_wrong_setting_is_named_before_any_question(endpoint: Endpoint, error: str) -> None:
    with pytest.raises(JudgeSetupError, match=error):
        await probe_judge(chat_judge(endpoint))

    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (completion(verdict_text("none")), "^model: .*known match .* for no match"),
        (completion(verdict_text("B1")), "^model: .*unrelated question .* overdue_days"),
        (completion("hm"), "^model: no verdict on a known question"),
        (httpx.ReadTimeout("slow"), "^address: no verdict on a known question"),
        (httpx.Response(404, json={"message": "no such model"}), "^model: HTTP 404: no such model"),
    ],
)
async def test_a_judge_that_answers_wrongly_is_not_fit(reply: Reply, error: str) -> None:
    endpoint = Endpoint(lambda _: reply, models=httpx.Response(404))

    with pytest.raises(JudgeSetupError, match=error):
        await probe_judge(chat_judge(endpoint))


async def test_a_judge_that_cannot_tell_is_taken_to_be_fit() -> None:
    judge = ScriptedJudge([])

    await probe_judge(judge)

    assert judge.questions == []
