"""The judge `vllm` in front of a scripted server: verdicts, failures, flags, fingerprint."""

from __future__ import annotations

import anyio
import httpx
import pytest

from judge.chat import ChatJudge
from judge.client import ChatClient
from judge.errors import JudgeError, JudgeSetupError
from judge.prompt import parse_template, policy_template
from judge.retries import RetryRules
from tests.support.endpoints import (
    MODEL,
    Endpoint,
    Request,
    Time,
    chat_judge,
    choices_of,
    completion,
    prompt_of,
    verdict_text,
)
from tests.support.tasks import make_task

REGISTRY = make_task("tide", "berth").registry


async def test_the_models_alias_becomes_the_blocker() -> None:
    endpoint = Endpoint([verdict_text("B2", "same gap")])

    verdict = await chat_judge(endpoint).decide("How wide is a berth?", REGISTRY)

    assert (verdict.blocker_id, verdict.reason, verdict.source) == ("berth", "same gap", "judge")
    assert (verdict.tokens, verdict.attempts, verdict.flags) == (100, 1, ())
    assert verdict.raw == verdict_text("B2", "same gap")


async def test_the_request_bounds_the_answer_to_the_registry_and_is_deterministic() -> None:
    endpoint = Endpoint([verdict_text("none")])

    await chat_judge(endpoint).decide("How wide is a berth?", REGISTRY)

    request = endpoint.requests[0]
    assert choices_of(request) == ["B1", "B2", "none"]
    assert (request["model"], request["temperature"], request["seed"]) == (MODEL, 0.0, 1)


@pytest.mark.parametrize(
    ("first", "waits"),
    [
        (httpx.ConnectError("refused"), [0.25]),
        (httpx.ReadTimeout("slow"), [0.25]),
        (httpx.Response(500), [0.25]),
        (httpx.Response(429, headers={"Retry-After": "3"}), [3.125]),
        (httpx.Response(200, content=b"garbage"), [0.25]),
        (completion("null"), [0.25]),
        (completion(verdict_text("B1"), finish="length"), [0.25]),
        (completion(None), [0.25]),
    ],
)
async def test_a_failure_that_may_pass_is_tried_again(
    first: httpx.Response | Exception, waits: list[float]
) -> None:
    time = Time()
    endpoint = Endpoint([first, verdict_text("B1")])

    verdict = await chat_judge(endpoint, time=time).decide("Which tide?", REGISTRY)

    assert (verdict.blocker_id, verdict.attempts) == ("tide", 2)
    assert time.waits == waits


async def test_waits_grow_and_are_jittered() -> None:
    replies = [httpx.Response(500)] * 4
    waits: list[list[float]] = []
    for chance in (0.0, 0.9):
        time = Time(chance=chance)
        judge = chat_judge(Endpoint(replies), rules=RetryRules(attempts=4), time=time)
        with pytest.raises(JudgeError):
            await judge.decide("Which tide?", REGISTRY)
        waits.append([round(wait, 3) for wait in time.waits])

    assert waits == [[0.125, 0.25, 0.5], [0.35, 0.7, 1.4]]


@pytest.mark.parametrize(
    ("reply", "error_class"),
    [
        (httpx.ConnectError("refused"), "connection"),
        (httpx.ReadTimeout("slow"), "timeout"),
        (httpx.Response(503), "http"),
        (completion("I would say tide."), "parse"),
        (completion('{"blocker_key": "B1", "reas', finish="length"), "truncated"),
        (completion(None, finish="length"), "truncated"),
        (httpx.StreamClosed(), "internal"),
    ],
)
async def test_what_still_fails_is_an_error_with_its_cause_and_no_verdict(
    reply: httpx.Response | Exception, error_class: str
) -> None:
    endpoint = Endpoint(lambda _: reply)

    with pytest.raises(JudgeError) as failed:
        await chat_judge(endpoint).decide("Which tide?", REGISTRY)

    assert failed.value.error_class == error_class
    assert failed.value.attempts == (1 if error_class == "internal" else 3)


@pytest.mark.parametrize("text", ["{", "", None])
async def test_a_cut_reply_is_asked_for_again_with_more_room(text: str | None) -> None:
    endpoint = Endpoint([completion(text, finish="length")] * 2 + [completion(verdict_text("B1"))])

    await chat_judge(endpoint).decide("Which tide?", REGISTRY)

    assert [request["max_tokens"] for request in endpoint.requests] == [256, 512, 1024]


async def test_only_a_cut_reply_gets_more_room() -> None:
    busy = httpx.Response(429)
    endpoint = Endpoint([busy, completion(None, finish="length"), verdict_text("B1")])

    await chat_judge(endpoint).decide("Which tide?", REGISTRY)

    assert [request["max_tokens"] for request in endpoint.requests] == [256, 256, 512]


async def test_no_attempt_is_made_that_would_end_past_the_deadline() -> None:
    time = Time()
    endpoint = Endpoint([httpx.Response(429, headers={"Retry-After": "60"})])

    with pytest.raises(JudgeError, match="no time for another attempt") as failed:
        await chat_judge(endpoint, time=time).decide("Which tide?", REGISTRY)

    assert (failed.value.error_class, failed.value.attempts, time.waits) == ("http", 1, [])


async def test_a_server_that_never_ends_its_reply_is_left_at_the_deadline() -> None:
    async def hang(_: httpx.Request) -> httpx.Response:
        await anyio.sleep_forever()
        raise AssertionError

    client = ChatClient("http://judge.test", transport=httpx.MockTransport(hang))
    judge = ChatJudge(
        client, policy_template("release"), model=MODEL, rules=RetryRules(deadline_s=0.02)
    )

    with anyio.fail_after(5), pytest.raises(JudgeError) as failed:
        await judge.decide("Which tide?", REGISTRY)

    assert (failed.value.error_class, failed.value.attempts) == ("timeout", 1)


def _failing_then_hanging() -> ChatClient:
    calls = 0

    async def fail_then_hang(_: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        if calls == 1:
            return httpx.Response(502)
        await anyio.sleep_forever()
        raise AssertionError

    return ChatClient("http://judge.test", transport=httpx.MockTransport(fail_then_hang))


async def test_the_deadline_names_what_went_wrong_before_it() -> None:
    rules = RetryRules(deadline_s=0.5, first_wait_s=0.0)
    judge = ChatJudge(_failing_then_hanging(), policy_template("release"), model=MODEL, rules=rules)

    with anyio.fail_after(5), pytest.raises(JudgeError, match="before that: HTTP 502") as failed:
        await judge.decide("Which tide?", REGISTRY)

    assert (failed.value.error_class, failed.value.attempts) == ("timeout", 2)


async def test_the_callers_own_limit_does_not_hide_what_went_wrong_before_it() -> None:
    rules = RetryRules(first_wait_s=0.0)
    judge = ChatJudge(_failing_then_hanging(), policy_template("release"), model=MODEL, rules=rules)

    with anyio.fail_after(1), pytest.raises(JudgeError, match="before that: HTTP 502"):
        await judge.decide("Which tide?", REGISTRY)


async def test_a_server_that_asks_for_time_gets_it_from_all_questions() -> None:
    time = Time()
    busy = httpx.Response(429, headers={"Retry-After": "20"})
    judge = chat_judge(
        Endpoint([busy, verdict_text("B1")]), rules=RetryRules(attempts=1), time=time
    )
    with pytest.raises(JudgeError, match="429"):
        await judge.decide("Which tide?", REGISTRY)

    await judge.decide("Which tide now?", REGISTRY)

    assert time.waits == [20.125]


async def test_a_server_that_is_away_for_long_holds_no_other_question_up() -> None:
    time = Time()
    busy = httpx.Response(429, headers={"Retry-After": "3600"})
    judge = chat_judge(Endpoint([busy, verdict_text("B1")]), time=time)
    with pytest.raises(JudgeError, match="no time for another attempt"):
        await judge.decide("Which tide?", REGISTRY)

    await judge.decide("Which tide now?", REGISTRY)

    assert time.waits == []


@pytest.mark.parametrize(
    ("status", "detail", "names"),
    [
        (401, "bad key", "key"),
        (404, "model `x` does not exist", "model"),
        (400, "maximum context length is 512 tokens", "window"),
    ],
)
async def test_a_wrong_setting_is_named_and_not_tried_again(
    status: int, detail: str, names: str
) -> None:
    endpoint = Endpoint(lambda _: httpx.Response(status, json={"message": detail}))

    with pytest.raises(JudgeSetupError, match=f"^{names}: ") as failed:
        await chat_judge(endpoint).decide("Which tide?", REGISTRY)

    assert (failed.value.error_class, len(endpoint.requests)) == ("judge_unfit", 1)


async def test_a_server_without_structured_output_is_asked_in_plain_text_from_then_on() -> None:
    def plain_only(request: Request) -> httpx.Response:
        if "response_format" in request:
            return httpx.Response(400, json={"message": "response_format: unsupported"})
        return completion(f"Here you are: {verdict_text('B1')}")

    endpoint = Endpoint(plain_only)
    judge = chat_judge(endpoint)

    first = await judge.decide("Which tide?", REGISTRY)
    second = await judge.decide("Which tide then?", REGISTRY)

    assert [first.blocker_id, second.blocker_id, first.attempts] == ["tide", "tide", 1]
    assert ["response_format" in request for request in endpoint.requests] == [True, False, False]
    assert '"blocker_key"' in prompt_of(endpoint.requests[1])
    assert judge.fingerprint.sampling["structured"] is False


async def test_a_server_that_took_a_schema_is_not_asked_in_plain_text_later() -> None:
    refusal = httpx.Response(400, json={"message": "response_format: unsupported"})
    endpoint = Endpoint([verdict_text("B1"), refusal, verdict_text("B1")])
    judge = chat_judge(endpoint)
    await judge.decide("Which tide?", REGISTRY)

    with pytest.raises(JudgeError, match="response_format"):
        await judge.decide("Which tide then?", REGISTRY)
    await judge.decide("Which tide now?", REGISTRY)

    assert all("response_format" in request for request in endpoint.requests)
    assert judge.fingerprint.sampling["structured"] is True


async def test_an_answer_of_another_model_is_no_verdict() -> None:
    endpoint = Endpoint(
        [verdict_text("none"), *[completion(verdict_text("B1"), model="other") for _ in range(3)]]
    )
    judge = chat_judge(endpoint)
    await judge.decide("Which tide?", REGISTRY)

    with pytest.raises(JudgeSetupError, match="answers as 'other' and was 'judge-model'"):
        await judge.decide("Which tide then?", REGISTRY)


async def test_no_more_questions_are_with_the_server_than_allowed() -> None:
    inside, most = 0, 0

    async def count(_: httpx.Request) -> httpx.Response:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await anyio.lowlevel.checkpoint()
        inside -= 1
        return completion(verdict_text("none"))

    client = ChatClient("http://judge.test", transport=httpx.MockTransport(count))
    judge = ChatJudge(client, policy_template("release"), model=MODEL, concurrency=3)
    async with anyio.create_task_group() as asking:
        for number in range(20):
            asking.start_soon(judge.decide, f"Which tide is {number}?", REGISTRY)

    assert most == 3


async def test_a_long_question_gets_a_verdict_with_a_flag() -> None:
    endpoint = Endpoint([verdict_text("B1")])

    verdict = await chat_judge(endpoint).decide("Which tide? " + "pad " * 12_500, REGISTRY)

    assert (verdict.blocker_id, verdict.flags) == ("tide", ("question_truncated",))
    assert len(prompt_of(endpoint.requests[0])) < 9000


async def test_a_template_of_the_users_own_is_asked_as_it_stands() -> None:
    text = 'List:\n{registry_by_id}\nMESSAGE: "{question_raw}"'
    template = parse_template(text, name="file", place="p")
    endpoint = Endpoint(['{"reasoning": "r", "blocker_key": "berth",}'])
    judge = chat_judge(endpoint, template=template)

    verdict = await judge.decide("How wide?", REGISTRY)

    assert verdict.blocker_id == "berth"
    assert "response_format" not in endpoint.requests[0]
    assert prompt_of(endpoint.requests[0]).endswith('MESSAGE: "How wide?"')
    assert judge.fingerprint.policy == "file"


async def test_the_fingerprint_names_model_policy_prompt_and_sampling() -> None:
    endpoint = Endpoint([completion(verdict_text("none"), model="judge-model-2026")])
    judge = chat_judge(endpoint)
    before = judge.fingerprint

    verdict = await judge.decide("Which tide?", REGISTRY)

    after = judge.fingerprint
    assert (before.model_reported, after.model_reported) == (None, "judge-model-2026")
    assert after.model == MODEL
    assert after.policy == "release"
    assert after.prompt_digest == policy_template("release").digest
    assert after.sampling["temperature"] == 0.0
    assert verdict.fingerprint == after.digest
    meaning = chat_judge(Endpoint([]), template=policy_template("meaning"))
    assert meaning.fingerprint.digest != before.digest
