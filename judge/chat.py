"""The judge `vllm`: a model behind an OpenAI-compatible server."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from judge.client import CallError, ChatClient
from judge.guard import GUARD_VERSION, SUSPECTED_INJECTION, speaks_to_the_judge
from judge.probe import check_served, known_answers
from judge.prompt import QUESTION_LIMIT, QUESTION_LIMIT_BYTES, answer_schema, build_prompt
from judge.reply import UnreadableReplyError, read_reply
from judge.retries import Pace, RetryRules, with_retries
from judge.verdict import JudgeFingerprint, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from judge.client import ChatReply
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
    takes_schema: bool | None = None
    """None until a structured request was answered or refused; what came first holds for good."""
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
                **self._sampling.settings(),
                "structured": self._template.wants_json and self._learned.takes_schema is not False,
            },
        )

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

        async def ask(attempt: int) -> Verdict:
            nonlocal attempts
            attempts = attempt
            async with self._places:
                await self._let_the_server_rest()
                try:
                    reply = await self._complete(prompt, attempt)
                except CallError as exc:
                    self._note_its_wish(exc)
                    raise
            if reply.tokens is not None:
                tokens.append(reply.tokens)
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
        await check_served(self._client, self._model, pace=self._pace)
        await known_answers(self)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _complete(self, prompt: Prompt, attempt: int) -> ChatReply:
        if self._template.wants_json and self._learned.takes_schema is not False:
            try:
                reply = await self._client.complete(self._request(prompt, attempt, structured=True))
            except CallError as exc:
                # Once it took a schema, a refusal is a failure: the fingerprint says structured.
                if exc.culprit != "format" or self._learned.takes_schema:
                    raise
                # A server without structured output: our prompt asks for the same JSON in words.
                self._learned.takes_schema = False
            else:
                self._learned.takes_schema = True
                return reply
        return await self._client.complete(self._request(prompt, attempt, structured=False))

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

    def _request(self, prompt: Prompt, attempt: int, *, structured: bool) -> dict[str, object]:
        request: dict[str, object] = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt.text}],
            "temperature": self._sampling.temperature,
            "seed": self._sampling.seed,
            # A reply that was cut once would be cut again at the same length.
            "max_tokens": self._sampling.max_tokens * 2 ** (attempt - 1),
        }
        if structured:
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
