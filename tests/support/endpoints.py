"""OpenAI-compatible servers without a network, and judges that ask them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import httpx

from judge.chat import ChatJudge
from judge.client import ChatClient
from judge.prompt import policy_template
from judge.retries import Pace, RetryRules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from judge.prompt import Template

MODEL = "judge-model"

Request = dict[str, object]
Reply = httpx.Response | Exception


def completion(text: str | None, *, model: str = MODEL, finish: str = "stop") -> httpx.Response:
    """A chat completion with this text."""
    return httpx.Response(
        200,
        json={
            "model": model,
            "choices": [{"message": {"content": text}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 90, "completion_tokens": 10},
        },
    )


def verdict_text(key: str | None, reason: str = "so") -> str:
    return json.dumps({"blocker_key": key, "reason": reason})


def prompt_of(request: Request) -> str:
    """The text that the model is given."""
    messages = cast("list[dict[str, str]]", request["messages"])
    return messages[0]["content"]


def choices_of(request: Request) -> list[str]:
    """The answers that the request's schema allows."""
    form: Any = request["response_format"]
    return cast("list[str]", form["json_schema"]["schema"]["properties"]["blocker_key"]["enum"])


class Endpoint:
    """Answers each completion by a function of the request, or with the next of its replies."""

    def __init__(
        self,
        replies: Callable[[Request], Reply] | Sequence[Reply | str],
        *,
        models: Sequence[str] | Reply = (MODEL,),
        context_tokens: int = 8192,
        refusals: Sequence[Reply] = (),
    ) -> None:
        """Set up the server.

        Args:
            replies: To questions.
            models: What it offers, or its answer to every request for the list.
            context_tokens: Of each model.
            refusals: Its answers to the first requests for the list.
        """
        self._replies = replies if callable(replies) else list(replies)
        self._models = models
        self._refusals = list(refusals)
        self._context_tokens = context_tokens
        self.requests: list[Request] = []
        self.headers: list[httpx.Headers] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.headers.append(request.headers)
        if request.url.path == "/v1/models":
            return _returned(self._listing())
        assert request.url.path == "/v1/chat/completions"
        body = cast("Request", json.loads(request.content))
        self.requests.append(body)
        if callable(self._replies):
            return _returned(self._replies(body))
        reply = self._replies.pop(0)
        return completion(reply) if isinstance(reply, str) else _returned(reply)

    def _listing(self) -> Reply:
        if self._refusals:
            return self._refusals.pop(0)
        if isinstance(self._models, httpx.Response | Exception):
            return self._models
        listed = [{"id": name, "max_model_len": self._context_tokens} for name in self._models]
        return httpx.Response(200, json={"data": listed})


def _returned(reply: Reply) -> httpx.Response:
    if isinstance(reply, Exception):
        raise reply
    return reply


class Time:
    """A clock that sleeping moves on, so that no test waits."""

    def __init__(self, *, chance: float = 0.5) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self._chance = chance

    @property
    def pace(self) -> Pace:
        return Pace(clock=lambda: self.now, sleep=self._sleep, random=lambda: self._chance)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def chat_judge(
    endpoint: Endpoint,
    *,
    template: Template | None = None,
    rules: RetryRules | None = None,
    time: Time | None = None,
    api_key: str | None = None,
    concurrency: int = 8,
) -> ChatJudge:
    return ChatJudge(
        ChatClient("http://judge.test", api_key=api_key, transport=httpx.MockTransport(endpoint)),
        template or policy_template("release"),
        model=MODEL,
        rules=rules,
        concurrency=concurrency,
        pace=(time or Time()).pace,
    )
