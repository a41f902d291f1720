"""What servers of many makes say when they refuse: the culprit, and whether to ask again."""

from __future__ import annotations

import httpx
import pytest

from judge.call_error import CallError
from judge.client import ChatClient
from judge.refusal import retry_after
from tests.support.endpoints import Endpoint

_ASKED = "http://judge.test/v1/chat/completions"


async def _refused(reply: httpx.Response) -> CallError:
    transport = httpx.MockTransport(Endpoint([reply]))
    async with ChatClient("http://judge.test", transport=transport) as client:
        with pytest.raises(CallError) as failed:
            await client.complete({})
    return failed.value


@pytest.mark.parametrize(
    ("status", "detail", "is_transient", "culprit"),
    [
        (429, "slow down", True, None),
        (500, "oops", True, None),
        (503, "loading", True, None),
        (408, "late", True, None),
        (501, "no", False, None),
        (400, "bad", False, None),
        (401, "no", False, "key"),
        (403, "no", False, "key"),
        (400, "API key not valid. Please pass a valid API key.", False, "key"),
        (404, "The model `x` does not exist.", False, "model"),
        (404, 'model "x:7b" not found, try pulling it first', False, "model"),
        (404, "No endpoints found for x/y.", False, "model"),
        (400, "model not found", False, "model"),
        (400, "x is not a valid model ID", False, "model"),
        (
            400,
            "Invalid model name passed in model=x. Call `/v1/models` to view them",
            False,
            "model",
        ),
        (400, "Unknown model seed-oss", False, "model"),
        (400, "The requested model 'x' is not supported by any provider", False, "model"),
        (400, "maximum context length is 2048 tokens", False, "window"),
        (
            400,
            "'max_tokens' or 'max_completion_tokens' is too large: 256. This model's maximum "
            "context length is 300 tokens and your request has 99 input tokens",
            *(False, "window"),
        ),
        (400, "request (5000 tokens) exceeds the available context size (4096)", False, "window"),
        (500, "the request exceeds the available context size.", True, "window"),
        (400, "prompt is too long: 5000 tokens > 4096 maximum", False, "window"),
        (400, "The input token count (9) exceeds the maximum number of tokens", False, "window"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 9", False, "window"),
    ],
)
async def test_a_refusal_tells_what_is_wrong(
    status: int, detail: str, is_transient: bool, culprit: str | None
) -> None:
    error = await _refused(httpx.Response(status, json={"error": {"message": detail}}))

    assert (error.error_class, error.is_transient, error.culprit) == ("http", is_transient, culprit)
    assert str(error) == f"HTTP {status}: {detail}"


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (httpx.Response(404, json={"detail": "Not Found"}), f"HTTP 404 at {_ASKED}: Not Found"),
        (
            httpx.Response(404, content=b"<html>\r\n<head><title>404 Not Found</title>"),
            f"HTTP 404 at {_ASKED}: an HTML page",
        ),
        (
            httpx.Response(
                404, json={"error": {"message": "Invalid URL (POST /v1/chat/completions/v1/x)"}}
            ),
            "Invalid URL",
        ),
        (
            httpx.Response(404, json={"error": "no such route: /models404/v1/models"}),
            "no such route",
        ),
        (httpx.Response(404, json={"error": "/v1/model not found"}), "not found"),
        (httpx.Response(405), f"HTTP 405 at {_ASKED}"),
        (
            httpx.Response(307, headers={"Location": "https://me:pw@h/v1/x"}),
            f"HTTP 307 at {_ASKED}: sent on to https://me:***@h/v1/x",
        ),
        (httpx.Response(301), f"HTTP 301 at {_ASKED}: sent on"),
    ],
)
async def test_a_path_without_an_api_is_a_wrong_address_and_is_named(
    reply: httpx.Response, says: str
) -> None:
    error = await _refused(reply)

    assert (error.culprit, error.is_transient) == ("address", False)
    assert says in str(error)


@pytest.mark.parametrize(
    ("body", "status", "culprit", "is_transient"),
    [
        ({"error": {"code": 401, "message": "No auth credentials found"}}, 401, "key", False),
        ({"error": {"code": "403", "message": "no"}}, 403, "key", False),
        ({"error": {"code": 429, "message": "slow down"}}, 429, None, True),
        ({"error": {"code": 404, "message": "model `x` does not exist"}}, 404, "model", False),
        ({"error": {"code": 404, "message": "no route"}}, 404, "address", False),
        ({"object": "error", "code": 400, "message": "context length is 9"}, 400, "window", False),
        ({"error": {"code": "invalid_api_key", "message": "no"}}, 400, "key", False),
        ({"error": "model 'x' not found"}, 400, "model", False),
        ({"error": {"message": "it fell over"}}, 500, None, True),
    ],
)
async def test_an_error_under_status_200_counts_as_its_own_status(
    body: object, status: int, culprit: str | None, is_transient: bool
) -> None:
    error = await _refused(httpx.Response(200, json=body))

    assert (error.status, error.culprit, error.is_transient) == (status, culprit, is_transient)
    assert "in a reply of status 200" in str(error)


@pytest.mark.parametrize(
    ("status", "body", "part"),
    [
        (400, {"message": "response_format is not supported"}, "response_format"),
        (400, {"message": "x" * 5000 + " json_schema: no"}, "response_format"),
        (500, {"message": "grammar is not supported by this backend"}, "response_format"),
        (501, {"message": "Unsupported: schema"}, "response_format"),
        (500, {"message": "the grammar worker died"}, None),
        (500, {"message": "seed is not supported"}, None),
        (
            400,
            {
                "error": {
                    "message": "Unsupported parameter: 'max_tokens' is not supported with this "
                    "model. Use 'max_completion_tokens' instead.",
                    "param": "max_tokens",
                    "code": "unsupported_parameter",
                }
            },
            "max_tokens",
        ),
        (
            400,
            {"error": {"message": "'temperature' does not support 0.0 with this model."}},
            "temperature",
        ),
        (
            422,
            {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]},
            "seed",
        ),
        (400, {"error": {"message": "not supported here", "param": "seed"}}, "seed"),
        (400, {"message": "bad seed"}, None),
    ],
)
async def test_a_part_of_the_request_that_is_not_taken_is_named(
    status: int, body: object, part: str | None
) -> None:
    error = await _refused(httpx.Response(status, json=body))

    assert (error.refused, error.culprit) == (part, None)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"<!DOCTYPE html><title>x</title>", "an HTML page"),
        (b'{"message": "a\\u001b[31mb\\r\\nc\\u202ed"}', r"a\x1b[31mb c\u202ed"),
        (b"\xef\xbb\xbf" + b'{"message": "with a mark"}', "with a mark"),
        (b"[" * 100_000, "[" * 300 + "…"),
        (b"", None),
    ],
)
async def test_an_errors_body_is_made_harmless(body: bytes, shown: str | None) -> None:
    error = await _refused(httpx.Response(500, content=body))

    assert str(error) == (f"HTTP 500: {shown}" if shown else "HTTP 500")


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        ("7", "", 7.0),
        ("0.5", "", 0.5),
        ("-3", "", 0.0),
        ("Mon, 30 Nov 2026 08:00:09 GMT", "Mon, 30 Nov 2026 08:00:00 GMT", 9.0),
        ("Mon, 30 Nov 2026 08:00:09 GMT", "", None),
        ("soon", "", None),
        ("inf", "", None),
        ("nan", "", None),
        (None, "", None),
    ],
)
def test_retry_after_is_read_as_seconds(
    value: str | None, date: str, seconds: float | None
) -> None:
    assert retry_after(value, {"Date": date}) == seconds
