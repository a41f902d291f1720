"""A server that does not take every part of a request is asked without it from then on."""

from __future__ import annotations

import httpx
import pytest

from judge.errors import JudgeError
from tests.support.endpoints import Endpoint, Request, chat_judge, completion, verdict_text
from tests.support.tasks import make_task

REGISTRY = make_task("tide", "berth").registry


def _refusal(part: str) -> httpx.Response:
    detail = f"Unsupported parameter: '{part}' is not supported with this model."
    return httpx.Response(400, json={"error": {"message": detail, "param": part}})


def _takes_none_of(*parts: str) -> Endpoint:
    def answer(request: Request) -> httpx.Response:
        refused = [part for part in parts if part in request]
        return _refusal(refused[0]) if refused else completion(verdict_text("B1"))

    return Endpoint(answer)


async def test_what_is_refused_is_left_out_from_then_on_and_the_fingerprint_says_so() -> None:
    endpoint = _takes_none_of("max_tokens", "seed", "temperature", "response_format")
    judge = chat_judge(endpoint)

    first = await judge.decide("Which tide?", REGISTRY)
    second = await judge.decide("Which tide then?", REGISTRY)

    assert (first.blocker_id, first.attempts, second.attempts) == ("tide", 1, 1)
    assert len(endpoint.requests) == 6
    assert set(endpoint.requests[-1]) == {"model", "messages", "max_completion_tokens"}
    sampling = judge.fingerprint.sampling
    assert (sampling["seed"], sampling["temperature"]) == ("not sent", "not sent")
    assert sampling["max_completion_tokens"] == 256
    assert "max_tokens" not in sampling
    assert sampling["structured"] is False
    assert second.fingerprint == judge.fingerprint.digest


@pytest.mark.parametrize("part", ["max_tokens", "seed", "temperature"])
async def test_what_was_taken_once_is_never_left_out_later(part: str) -> None:
    endpoint = Endpoint([verdict_text("B1"), _refusal(part)])
    judge = chat_judge(endpoint)
    await judge.decide("Which tide?", REGISTRY)
    before = judge.fingerprint

    with pytest.raises(JudgeError, match=part):
        await judge.decide("Which tide then?", REGISTRY)

    assert judge.fingerprint == before


async def test_a_server_that_refuses_what_it_is_not_sent_fails() -> None:
    endpoint = Endpoint(lambda _: _refusal("seed"))

    with pytest.raises(JudgeError, match="seed"):
        await chat_judge(endpoint).decide("Which tide?", REGISTRY)

    assert len(endpoint.requests) == 2
