"""The judge `vllm`: a model behind an OpenAI-compatible server."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio

from judge.call_error import CallError
from judge.dialect import Dialect
from judge.guard import GUARD_VERSION, SUSPECTED_INJECTION, speaks_to_the_judge
from judge.probe import check_served, known_answers
from judge.prompt import QUESTION_LIMIT, QUESTION_LIMIT_BYTES, answer_schema, build_prompt
from judge.reply import UnreadableReplyError, read_reply
from judge.retries import Pace, RetryRules, with_retries
from judge.verdict import JudgeFingerprint, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from judge.call_error import RequestPart
    from judge.client import ChatClient
    from judge.completion import ChatReply
    from judge.prompt import Prompt, Template
    from judge.verdict import RegistryView, Setting

_NO_QUESTION = "the message speaks to the judge instead of asking a person; the model was not asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the model writes; the same question shall get the same verdict."""

    temperature: float = 0.0
    seed: int = 1
    max_tokens: int = 256
    """Longest reply; doubled after a reply that was cut."""

    def settings(self) -> dict[str, Setting]:
        """What of a request, beyond model and prompt, can change a verdict."""
        return {
            "temperature": self.temperature,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "question_limit": QUESTION_LIMIT,
            "question_limit_bytes": QUESTION_LIMIT_BYTES,
            "guard": GUARD_VERSION,
        }


@dataclass(slots=True)
class _Learned:
    """What only the server could tell."""

    model: str | None = None
    dialect: Dialect = field(default_factory=Dialect)
    busy_until_s: float = 0.0
    """Time of the pace's clock before which the server wants no further question."""


class ChatJudge:
    """Asks a model for each question. One for each event loop; `aclose` when done."""

    def __init__(
        self,
        client: ChatClient,
        template: Template,
        *,
        model: str,
        sampling: Sampling | None = None,
        rules: RetryRules | None = None,
        concurrency: int = 8,
        pace: Pace | None = None,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Prepare the judge; nothing is sent.

        Args:
            client: The server; closed by `aclose`.
            template: The prompt.
            model: Name that the server is asked for.
            sampling: Temperature 0 and a fixed seed by default.
            rules: Attempts and the deadline of one question.
            concurrency: Questions that are with the server at the same time; more wait their turn.
            pace: Time and chance of the retries.
            timer: Seconds, for the verdict's latency.
        """
        self._client = client
        self._template = template
        self._model = model
        self._sampling = sampling or Sampling()
        self._rules = rules or RetryRules()
        self._pace = pace or Pace()
        self._timer = timer
        self._places = anyio.Semaphore(concurrency)
        self._learned = _Learned()

    @property
    def fingerprint(self) -> JudgeFingerprint:
        """Names the served model from the first reply on; `probe` settles it."""
        return JudgeFingerprint(
            backend="vllm",
            model=self._model,
            model_reported=self._learned.model,
            policy=self._template.name,
            prompt_digest=self._template.digest,
            sampling={
                **self._learned.dialect.told(self._sampling.settings()),
                "structured": self._is_structured,
            },
        )

    @property
    def _is_structured(self) -> bool:
        return self._template.wants_json and self._learned.dialect.sends("response_format")

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        """Ask the model, again if need be, and read its reply.

        Raises:
            JudgeError: No readable reply within the attempts and the deadline.
        """
        prompt = build_prompt(self._template, question, registry)
        if speaks_to_the_judge(question):
            # Not asked: such a message could otherwise make the model fail, and the agent would
            # be rid of a session that goes badly.
            return Verdict(
                blocker_id=None,
                reason=_NO_QUESTION,
                attempts=0,
                fingerprint=self.fingerprint.digest,
                flags=(*prompt.flags, SUSPECTED_INJECTION),
            )
        started = self._timer()
        tokens: list[int] = []
        attempts = 0
        room = self._sampling.max_tokens

        async def ask(attempt: int) -> Verdict:
            nonlocal attempts, room
            attempts = attempt
            async with self._places:
                await self._let_the_server_rest()
                try:
                    reply = await self._complete(prompt, room)
                except CallError as exc:
                    self._note_its_wish(exc)
                    raise
            if reply.tokens is not None:
                tokens.append(reply.tokens)
            if reply.is_cut:
                # What was cut once would be cut again at the same length.
                room *= 2
            return self._verdict_of(reply, prompt)

        verdict = await with_retries(ask, rules=self._rules, pace=self._pace)
        return replace(
            verdict,
            latency_ms=(self._timer() - started) * 1000,
            tokens=sum(tokens) if tokens else None,
            attempts=attempts,
        )

    async def probe(self) -> None:
        """Ask one known match and one known non-match, after a look at the served models.

        Raises:
            JudgeSetupError: The judge is not fit; the message says which of address, key, model or
                context window is wrong, or how it answered.
        """
        is_told = await check_served(self._client, self._model, pace=self._pace)
        await known_answers(self, fills_window=not is_told)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _complete(self, prompt: Prompt, room: int) -> ChatReply:
        dialect = self._learned.dialect
        while True:
            request = self._request(prompt, room)
            sent = _parts(request)
            try:
                reply = await self._client.complete(request)
            except CallError as exc:
                # Without structured output our prompt asks for the same JSON in words.
                if not dialect.gives_up(exc.refused, sent):
                    raise
            else:
                dialect.settled(sent)
                return reply

    async def _let_the_server_rest(self) -> None:
        wait = self._learned.busy_until_s - self._pace.clock()
        if wait > 0:
            # Not all at once when the time has come.
            await self._pace.sleep(wait + self._pace.random() * self._rules.first_wait_s)

    def _note_its_wish(self, error: CallError) -> None:
        """Hold the other questions back too; over the deadline, each hears it from the server."""
        if error.retry_after_s is not None and error.retry_after_s < self._rules.deadline_s:
            until = self._pace.clock() + error.retry_after_s
            self._learned.busy_until_s = max(self._learned.busy_until_s, until)

    def _request(self, prompt: Prompt, room: int) -> dict[str, object]:
        dialect = self._learned.dialect
        request: dict[str, object] = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt.text}],
            dialect.limit_name: room,
        }
        if dialect.sends("temperature"):
            request["temperature"] = self._sampling.temperature
        if dialect.sends("seed"):
            request["seed"] = self._sampling.seed
        if self._is_structured:
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {
                    "name": "verdict",
                    "strict": True,
                    "schema": answer_schema(prompt.choices),
                },
            }
        return request

    def _verdict_of(self, reply: ChatReply, prompt: Prompt) -> Verdict:
        if self._learned.model is not None and reply.model != self._learned.model:
            # The fingerprint in the log would no longer be true of this verdict.
            raise CallError(
                f"the server answers as {reply.model!r} and was {self._learned.model!r}",
                error_class="http",
                is_transient=True,
                culprit="model",
            )
        if reply.is_cut:
            raise CallError(
                "the reply was cut by its length limit", error_class="truncated", is_transient=True
            )
        try:
            reading = read_reply(reply.text, prompt.answers)
        except UnreadableReplyError as exc:
            raise CallError(
                f"{exc}: {reply.text[:200]!r}", error_class="parse", is_transient=True
            ) from exc
        self._learned.model = reply.model
        return Verdict(
            blocker_id=reading.blocker_id,
            reason=reading.reason,
            raw=reply.text,
            fingerprint=self.fingerprint.digest,
            flags=(*prompt.flags, *reading.flags),
        )


def _parts(request: dict[str, object]) -> set[RequestPart]:
    """The parts of a request that a server may refuse."""
    parts: tuple[RequestPart, ...] = ("response_format", "max_tokens", "seed", "temperature")
    return {part for part in parts if part in request}
