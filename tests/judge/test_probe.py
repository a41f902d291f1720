"""The probe: one known match, one known non-match, and a name for what is wrong."""

from __future__ import annotations

import anyio
import httpx
import pytest

from judge.chat import ChatJudge
from judge.client import ChatClient
from judge.errors import JudgeSetupError
from judge.lifecycle import probe_judge
from judge.probe import KNOWN_NON_MATCH, LONGEST_NON_MATCH
from judge.prompt import QUESTION_LIMIT_BYTES, as_data, cut_question, policy_template
from judge.retries import RetryRules
from tests.support.endpoints import (
    MODEL,
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


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_server_without_a_list_of_models_can_pass(status: int) -> None:
    await probe_judge(chat_judge(Endpoint(_fit, models=httpx.Response(status))))


@pytest.mark.parametrize("status", [404, 307])
async def test_a_path_without_an_api_is_a_wrong_address(status: int) -> None:
    nowhere = httpx.Response(
        status, json={"detail": "Not Found"}, headers={"Location": "http://elsewhere.test/"}
    )
    asked = r"http://judge\.test/v1/chat/completions"
    says = "Not Found: is this" if status == 404 else r"sent on to http://elsewhere\.test/: give"

    with pytest.raises(JudgeSetupError, match=rf"^address: HTTP {status} at {asked}: {says}"):
        await probe_judge(chat_judge(Endpoint(lambda _: nowhere, models=httpx.Response(404))))


async def test_a_server_that_answers_its_list_and_then_hangs_is_there() -> None:
    async def hang(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"data": [{"id": MODEL, "max_model_len": 8192}]})
        await anyio.sleep_forever()
        raise AssertionError

    client = ChatClient("http://judge.test", transport=httpx.MockTransport(hang))
    judge = ChatJudge(
        client, policy_template("release"), model=MODEL, rules=RetryRules(deadline_s=0.02)
    )

    with anyio.fail_after(5), pytest.raises(JudgeSetupError, match=r"^server: no verdict on a"):
        await probe_judge(judge)


async def test_a_window_that_nobody_told_is_tried_with_the_longest_question() -> None:
    def small(request: Request) -> httpx.Response:
        if len(prompt_of(request).encode()) < 6000:
            return _fit(request)
        detail = "request (3200 tokens) exceeds the available context size (2048 tokens)"
        return httpx.Response(400, json={"error": {"code": 400, "message": detail}})

    with pytest.raises(JudgeSetupError, match=r"^window: HTTP 400: .*context size"):
        await probe_judge(chat_judge(Endpoint(small, context_tokens=0)))


async def test_a_window_that_cuts_only_the_longest_question_short_is_too_small() -> None:
    def small(request: Request) -> httpx.Response:
        is_long = len(prompt_of(request).encode()) > 6000
        return completion(None, finish="length") if is_long else _fit(request)

    with pytest.raises(JudgeSetupError, match=r"^window: no verdict on a known question"):
        await probe_judge(chat_judge(Endpoint(small, context_tokens=0)))


@pytest.mark.parametrize(("tokens", "question"), [(0, LONGEST_NON_MATCH), (8192, KNOWN_NON_MATCH)])
async def test_the_longest_question_is_asked_only_where_the_window_is_not_told(
    tokens: int, question: str
) -> None:
    endpoint = Endpoint(_fit, context_tokens=tokens)

    await probe_judge(chat_judge(endpoint))

    assert question + '"' in prompt_of(endpoint.requests[-1])
    assert len(endpoint.requests) == 2


def test_the_longest_question_is_as_long_as_one_can_be_and_is_not_cut() -> None:
    assert len(as_data(LONGEST_NON_MATCH).encode()) > QUESTION_LIMIT_BYTES - 8
    assert cut_question(LONGEST_NON_MATCH) == LONGEST_NON_MATCH


async def test_of_many_served_models_ten_are_named() -> None:
    names = [f"m{place}\x1b[31m\n" for place in range(400)]

    with pytest.raises(JudgeSetupError, match=r"there: m0\\x1b\[31m, .* and 390 more$") as unfit:
        await probe_judge(chat_judge(Endpoint(_fit, models=names)))

    assert str(unfit.value).isprintable()


async def test_an_error_under_status_200_names_the_wrong_setting() -> None:
    refusal = httpx.Response(200, json={"error": {"code": 401, "message": "No auth"}})

    with pytest.raises(JudgeSetupError, match=r"^key: .*refuses the API key"):
        await probe_judge(chat_judge(Endpoint(_fit, models=refusal)))
    with pytest.raises(JudgeSetupError, match=r"^key: HTTP 401 in a reply of status 200: No auth"):
        await probe_judge(chat_judge(Endpoint(lambda _: refusal)))


async def test_a_list_that_is_refused_blames_no_setting() -> None:
    poor = httpx.Response(402, json={"error": {"message": "no credit"}})

    with pytest.raises(JudgeSetupError, match=r"^server: .* refuses to answer: HTTP 402: no"):
        await probe_judge(chat_judge(Endpoint(_fit, models=poor)))


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
        (Endpoint(_fit, models=httpx.Response(200, content=b"<html>")), "^address: .*an HTML page"),
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
        (httpx.ReadTimeout("slow"), "^server: no verdict on a known question"),
        (httpx.ReadError("reset"), "^server: no verdict on a known question"),
        (
            completion(verdict_text("B7")),
            r"^model: .*known match .* no blocker \(invalid_key\): .*B7",
        ),
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
