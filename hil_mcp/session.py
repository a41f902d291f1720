"""One agent on one task in one mode: counts, caps, remembers, and writes everything down."""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import anyio.to_thread

from hil_mcp.counting import AnswerCount, CountingRules
from hil_mcp.events import (
    BlockerEntry,
    Delivery,
    ErrorEntry,
    JudgeInfo,
    Question,
    QuestionStarted,
    ServerInfo,
    SessionEnd,
    SessionResumed,
    SessionStart,
    Submission,
    ToolCall,
    VerdictEntry,
)
from hil_mcp.session_log import LogWriteError
from judge.errors import JudgeError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hil_mcp.events import (
        AgentInfo,
        EndReason,
        EventBody,
        Outcome,
        SubmissionKind,
    )
    from hil_mcp.modes import Mode
    from hil_mcp.session_log import SessionLog
    from hil_mcp.session_reader import SessionRecord
    from judge.verdict import Judge, JudgeFingerprint, Verdict
    from task_store.records import Task

logger = logging.getLogger(__name__)

# The literal replies of the release; protocol.md, section 2.
IRRELEVANT = "irrelevant question"
CANT_ANSWER = "can't answer (perhaps transient hiccup)"

SHORTEST_QUESTION = 3
"""Characters that can be seen; below it no judge is asked (protocol.md, section 3)."""
JUDGE_DEADLINE_S = 30.0
"""The judge's share of the 40 s that any reply may take (design.md, Replies)."""
SHUTDOWN_GRACE_S = 3.0
"""How long a question that is being judged may hold up the server's end."""
AGENT_GONE = "agent_gone"
"""Error class of a question whose agent went before the verdict: the agent's doing, so it counts
and does not make the session invalid (docs/decisions.md)."""
RESULT_TEXT_LIMIT = 20_000
"""Characters of a tool's reply that the log keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConditions:
    """What a session is told from outside; it stands in `session_start`."""

    mode: Mode
    prompt_digest: str
    counting_rules: CountingRules = CountingRules.RELEASE_2
    agent: AgentInfo | None = None
    isolation: str | None = None
    pass_number: int | None = None
    run_id: str | None = None
    attempt_id: str | None = None
    server_version: str = ""
    git_revision: str | None = None


@dataclass(slots=True)
class _State:
    """What the log says so far; rebuilt from it after a restart."""

    answers: AnswerCount
    questions: int = 0
    tool_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ruling:
    """What a verdict comes to under the counting rules."""

    outcome: Outcome
    response: str
    blocker_id: str | None = None
    verdict: Verdict | None = None
    error: ErrorEntry | None = None
    flags: list[str] = field(default_factory=list[str])


class Session:
    """Answers questions by the registry and keeps the log. The log on disk is its truth."""

    def __init__(
        self,
        task: Task,
        conditions: SessionConditions,
        log: SessionLog,
        judge: Judge | None,
        *,
        resumed: SessionRecord | None = None,
        session_id: str | None = None,
        settled: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Prepare the session; nothing is written before `begin`.

        Args:
            task: The task that is served.
            conditions: Mode, counting rules and whatever else the runner declares.
            log: Where events go; the session closes it.
            judge: None in modes without ask_human.
            resumed: The unended log that this session goes on with.
            session_id: An opaque id; a fresh one by default.
            settled: Awaited before `session_start` is written: until then the judge's fingerprint
                may still change, by the model that its server reports.
        """
        self.task = task
        self.conditions = conditions
        self._log = log
        self._judge = judge
        self._resumed = resumed
        self.session_id = resumed.start.session_id if resumed else session_id or new_session_id()
        self._state = _rebuild(resumed, conditions.counting_rules)
        self._settled = settled
        self._is_begun = False
        self._judging: dict[anyio.CancelScope, anyio.Event] = {}
        self._waiting: list[EventBody] = []
        self._turn = anyio.Lock()

    @property
    def log(self) -> SessionLog:
        """The log that is written."""
        return self._log

    async def begin(self) -> None:
        """Write `session_start`, or go on with the resumed log. Later calls do nothing.

        Over stdio this is the first tool call: health checks leave no empty sessions.
        """
        if self._is_begun:
            return
        if self._settled is not None:
            await self._settled()
        async with self._turn:
            if self._is_begun:
                return
            first = _resumed_event(self._resumed) if self._resumed else self._start_event()
            await self._append(first, *self._waiting)
            self._waiting.clear()
            self._is_begun = True

    async def note(self, *bodies: EventBody) -> None:
        """Write events that record no reply; before `begin` they wait for it."""
        async with self._turn:
            if not self._is_begun:
                self._waiting.extend(bodies)
            else:
                await self._append(*bodies, durable=False)

    async def ask(self, question: str, *, meta: Mapping[str, object]) -> str:
        """Answer one question; the answer is on disk before this returns.

        A caller that is cancelled, because the agent went, does not lose the question: its judge
        gets a short grace, and what comes of it is written down as not delivered.

        Args:
            question: The agent's text as it came.
            meta: The agent's own ids for the call.

        Returns:
            A resolution byte for byte, `IRRELEVANT` or `CANT_ANSWER`.

        Raises:
            LogWriteError: The question could not be written down; it must not be answered.
        """
        done: Question | LogWriteError | None = None
        try:
            async with anyio.create_task_group() as watch:
                judging = anyio.CancelScope(shield=True)
                watch.start_soon(_shorten_when_cancelled, judging)
                with anyio.CancelScope(shield=True):
                    self._judging[judging] = anyio.Event()
                    try:
                        done = await self._asked(question, dict(meta), judging)
                    except LogWriteError as exc:  # kept: a task group would wrap it
                        done = exc
                    finally:
                        self._judging.pop(judging).set()
                watch.cancel_scope.cancel()
            await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class():
            if isinstance(done, Question):
                with anyio.CancelScope(shield=True):
                    await self.note(Delivery(number=done.number, delivered=False))
            raise
        if isinstance(done, Question):
            return done.response
        assert done is not None  # noqa: S101  # the shielded block always sets it
        raise done

    async def _asked(
        self, question: str, meta: dict[str, object], judging: anyio.CancelScope
    ) -> Question:
        async with self._turn:
            self._state.questions += 1
            number, tool_calls_before = self._state.questions, self._state.tool_calls
            digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()
            # Not durable by itself: it survives the death of this process, which is what it is for.
            await self._append(
                QuestionStarted(number=number, question_digest=digest), durable=False
            )
        ruling = await self._judged(question, judging)
        async with self._turn:
            ruling = self._apply_rules(ruling)
            asked = Question(
                number=number,
                question=question,
                response=ruling.response,
                blocker_id=ruling.blocker_id,
                outcome=ruling.outcome,
                verdict=_verdict_entry(ruling.verdict) if ruling.verdict else None,
                flags=ruling.flags,
                error=ruling.error,
                tool_calls_before=tool_calls_before,
                meta=meta,
            )
            await self._append(asked)
            if ruling.blocker_id is not None:
                self._state.answers.add(ruling.blocker_id)
        return asked

    async def record_call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        result: str,
        *,
        is_error: bool,
        started: float,
    ) -> None:
        """Write down one call of another tool, before its reply leaves.

        Args:
            tool: The tool's name as it was called.
            arguments: As sent.
            result: The reply's whole text.
            is_error: Whether the reply is an error result.
            started: `time.perf_counter()` when the call came.
        """
        data = result.encode("utf-8", "surrogatepass")
        async with self._turn:
            self._state.tool_calls += 1
            await self._append(
                ToolCall(
                    tool=tool,
                    arguments=dict(arguments),
                    result_text=result[:RESULT_TEXT_LIMIT],
                    result_length=len(result),
                    result_digest=hashlib.sha256(data).hexdigest(),
                    is_error=is_error,
                    duration_ms=round((time.perf_counter() - started) * 1000, 3),
                )
            )

    async def submit(self, kind: SubmissionKind, content: str) -> None:
        """Write down an answer to the task; the last one counts. Does not end the session."""
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        async with self._turn:
            await self._append(Submission(kind=kind, content=content, digest=digest))

    async def close(self, reason: EndReason) -> None:
        """End the session and give the log back; a session that never began leaves none.

        Questions that are being judged get `SHUTDOWN_GRACE_S`, and are on disk before this returns.
        """
        with anyio.CancelScope(shield=True):
            for judging in self._judging:
                _shorten(judging)
            for done in list(self._judging.values()):
                await done.wait()
            async with self._turn:
                if self._is_begun:
                    await self._append(SessionEnd(reason=reason))
                is_empty = not self._is_begun and self._resumed is None
                end = self._log.discard if is_empty else self._log.close
                await anyio.to_thread.run_sync(end)

    async def _append(self, *bodies: EventBody, durable: bool = True) -> None:
        # A worker thread, so that a slow disk holds up this session only and not the whole server;
        # shielded, so that a line is never half decided.
        if bodies:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(lambda: self._log.append(*bodies, durable=durable))

    async def _judged(self, question: str, judging: anyio.CancelScope) -> _Ruling:
        if visible_length(question) < SHORTEST_QUESTION:
            return _Ruling(outcome="too_short", response=IRRELEVANT)
        if self._state.answers.is_used_up:
            return _Ruling(outcome="capped", response=IRRELEVANT)
        if self._judge is None:
            return _failed("internal", 0, "this mode has no judge")
        judging.deadline = min(judging.deadline, anyio.current_time() + JUDGE_DEADLINE_S)
        started = anyio.current_time()
        try:
            with judging:
                return self._ruling_of(await self._judge.decide(question, self.task.registry))
        except JudgeError as exc:
            return _failed(exc.error_class, exc.attempts, str(exc))
        except Exception:
            # A failed judge is never a "no", and its message may hold a resolution.
            logger.exception("the judge failed in a way that it does not declare")
            return _failed("internal", 1, "the judge failed; see the server's diagnostics")
        waited = anyio.current_time() - started
        if waited < JUDGE_DEADLINE_S:
            return _failed(AGENT_GONE, 1, "the agent went while the question was judged")
        return _failed("timeout", 1, f"no verdict within {JUDGE_DEADLINE_S:g} s")

    def _ruling_of(self, verdict: Verdict) -> _Ruling:
        flags = list(verdict.flags)
        if verdict.blocker_id is None:
            return _Ruling(outcome="irrelevant", response=IRRELEVANT, verdict=verdict, flags=flags)
        blocker = self.task.registry.get(verdict.blocker_id)
        if blocker is None:
            return _failed(
                "internal", verdict.attempts, "the verdict names a blocker that the task has not"
            )
        return _Ruling(
            outcome="answered",
            response=blocker.resolution,
            blocker_id=blocker.blocker_id,
            verdict=verdict,
            flags=flags,
        )

    def _apply_rules(self, ruling: _Ruling) -> _Ruling:
        """Under the lock: parallel questions are judged together and counted one by one."""
        if ruling.blocker_id is None:
            return ruling
        answers = self._state.answers
        if not answers.allows(ruling.blocker_id):
            return _Ruling(
                outcome="capped",
                response=IRRELEVANT,
                verdict=ruling.verdict,
                flags=ruling.flags,
            )
        if answers.is_discovered(ruling.blocker_id):
            return _Ruling(
                outcome="repeat",
                response=ruling.response,
                blocker_id=ruling.blocker_id,
                verdict=ruling.verdict,
                flags=ruling.flags,
            )
        return ruling

    def _start_event(self) -> SessionStart:
        conditions, task = self.conditions, self.task
        return SessionStart(
            session_id=self.session_id,
            task_id=task.task_id,
            task_digest=task.digest,
            task_kind=task.kind.value,
            mode=conditions.mode,
            counting_rules=conditions.counting_rules,
            pass_number=conditions.pass_number,
            run_id=conditions.run_id,
            attempt_id=conditions.attempt_id,
            agent=conditions.agent,
            isolation=conditions.isolation,
            prompt_digest=conditions.prompt_digest,
            n_blockers=len(task.registry),
            blockers=[
                BlockerEntry(id=b.blocker_id, type=b.type, category=b.category)
                for b in task.registry.blockers
            ],
            registry_digest=task.registry.digest,
            judge=judge_info(self._judge.fingerprint) if self._judge else None,
            server=ServerInfo(
                version=conditions.server_version, git_revision=conditions.git_revision
            ),
        )


async def _shorten_when_cancelled(judging: anyio.CancelScope) -> None:
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        _shorten(judging)
        raise


def _shorten(judging: anyio.CancelScope) -> None:
    judging.deadline = min(judging.deadline, anyio.current_time() + SHUTDOWN_GRACE_S)


def new_session_id() -> str:
    """An opaque id that says nothing of the task."""
    return secrets.token_hex(8)


def visible_length(text: str) -> int:
    """Characters that a reader would see: no separators, controls or zero-width characters."""
    return sum(unicodedata.category(char)[0] not in "ZC" for char in text)


def judge_info(fingerprint: JudgeFingerprint) -> JudgeInfo:
    """The judge as `session_start` names it."""
    return JudgeInfo.model_validate({**fingerprint.as_dict(), "fingerprint": fingerprint.digest})


def _failed(error_class: str, attempts: int, cause: str) -> _Ruling:
    error = ErrorEntry(class_=error_class, attempts=attempts, cause=cause)
    return _Ruling(outcome="cant_answer", response=CANT_ANSWER, error=error)


def _verdict_entry(verdict: Verdict) -> VerdictEntry:
    return VerdictEntry(
        blocker_id=verdict.blocker_id,
        reason=verdict.reason,
        confidence=verdict.confidence,
        raw=verdict.raw,
        latency_ms=round(verdict.latency_ms, 3),
        tokens=verdict.tokens,
        attempts=verdict.attempts,
        source=verdict.source,
        fingerprint=verdict.fingerprint,
        flags=list(verdict.flags),
        members=tuple(_verdict_entry(member) for member in verdict.members),
    )


def _resumed_event(record: SessionRecord) -> SessionResumed:
    torn = record.torn
    return SessionResumed(
        bytes_cut=len(torn), cut_digest=hashlib.sha256(torn).hexdigest() if torn else None
    )


def _rebuild(resumed: SessionRecord | None, rules: CountingRules) -> _State:
    state = _State(answers=AnswerCount(rules))
    if resumed is None:
        return state
    started = [event.number for event in resumed.of(QuestionStarted)]
    state.questions = max(started, default=0)
    state.tool_calls = len(resumed.of(ToolCall))
    for question in resumed.of(Question):
        if question.blocker_id is not None:
            state.answers.add(question.blocker_id)
    return state
