"""A judge server's address, as users paste it and as messages show it."""

from __future__ import annotations

import httpx
import pytest

from judge.address import read_address, without_password
from judge.client import ChatClient
from judge.errors import JudgeUsageError
from tests.support.endpoints import completion


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://h:1", "http://h:1/v1"),
        (" http://h:1/ ", "http://h:1/v1"),
        ("http://h:1/v1/", "http://h:1/v1"),
        ("https://h/api/v1", "https://h/api/v1"),
        ("https://h/api/v4", "https://h/api/v4"),
        ("https://h/v12", "https://h/v12"),
        ("https://h/api", "https://h/api/v1"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1"),
        ("https://h/v1beta/openai/chat/completions/", "https://h/v1beta/openai"),
        ("http://[::1]:1", "http://[::1]:1/v1"),
        ("http://me:pw@h:1/v1", "http://h:1/v1"),
    ],
)
def test_an_address_leads_to_the_api_however_it_is_pasted(url: str, base: str) -> None:
    assert read_address(url).base == base


@pytest.mark.parametrize(
    "url",
    [
        *("", "localhost:8808", "ftp://h", "http://", "http://[::1", "http://127.0.0.1:99999"),
        *("http://h:0", "http://h:x", "http://a..b", f"http://{'a' * 70}.test", "http://a b"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(JudgeUsageError, match="judge address"):
        read_address(url)


async def test_a_query_and_a_login_go_with_every_request() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return completion("{}")

    url = "http://me:pw%21@judge.test/v1?api-version=1"
    async with ChatClient(url, transport=httpx.MockTransport(answer)) as client:
        await client.complete({})

    assert str(asked[0].url) == "http://judge.test/v1/chat/completions?api-version=1"
    assert asked[0].headers["Authorization"] == "Basic bWU6cHch"  # me:pw!


@pytest.mark.parametrize("url", ["http://me:s3cret@h:x", "ftp://me:s3cret@h", "http://me:s3/c@h"])
def test_a_password_in_a_refused_address_is_not_shown(url: str) -> None:
    with pytest.raises(JudgeUsageError, match=r"me:\*\*\*@h") as refused:
        read_address(url)

    assert "s3" not in str(refused.value)


def test_a_password_is_shown_as_three_stars_wherever_an_address_stands() -> None:
    shown = without_password("vote:majority:vllm(url=http://a:b@h:1)+vllm(url=http://c:d@e@i,x=1)")

    assert shown == "vote:majority:vllm(url=http://a:***@h:1)+vllm(url=http://c:***@i,x=1)"
    assert read_address("http://me:pw@h/v1?key=k").shown_url("/models") == (
        "http://me:***@h/v1/models?…"
    )


@pytest.mark.parametrize(
    ("url", "is_loopback"),
    [
        ("http://127.0.0.1", True),
        ("http://127.3.2.1:80", True),
        ("http://[::1]:80", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("http://LOCALHOST", True),
        ("http://judge.localhost", True),
        ("http://0.0.0.0:80", True),
        ("http://128.0.0.1", False),
        ("http://localhost.test", False),
    ],
)
def test_every_name_of_this_machine_is_known(url: str, is_loopback: bool) -> None:
    assert read_address(url).is_loopback is is_loopback
