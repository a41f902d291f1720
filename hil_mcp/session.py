"""One agent on one task in one mode: counts, caps, remembers, and writes everything down."""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
import unicodedata
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

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
from judge.errors import JudgeError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

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

# The literal replies of the release; docs/release.md, section 2.
IRRELEVANT = "irrelevant question"
CANT_ANSWER = "can't answer (perhaps transient hiccup)"

SHORTEST_QUESTION = 3
"""Characters that can be seen; below it no judge is asked (docs/release.md, section 3)."""
JUDGE_DEADLINE_S = 30.0
"""The judge's share of the 40 s that any reply may take."""
REPLY_RESERVE_S = 1.0
"""What the judge leaves of a call's time for writing its end down: a call that began with waiting
for the judge to get ready has less than 40 s left."""
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
        self._waiting: list[EventBody] = []
        self._judging: set[anyio.CancelScope] = set()
        self._idle = anyio.Event()
        self._is_closing = False
        self.faults: list[str] = []
        """What went wrong on our side, in words without any message of an exception."""

    @property
    def log(self) -> SessionLog:
        """The log that is written."""
        return self._log

    async def begin(self) -> None:
        """Write `session_start`, or go on with the resumed log. Later calls do nothing.

        Over stdio this is the first tool call: health checks leave no empty sessions.

        Raises:
            LogWriteError: The log cannot be written.
        """
        if not self._is_begun and self._settled is not None:
            await self._settled()
        if not self._is_begun:
            first = _resumed_event(self._resumed) if self._resumed else self._start_event()
            self._log.append(first, *self._waiting)
            self._waiting.clear()
            self._is_begun = True

    def note(self, *bodies: EventBody) -> None:
        """Write events that record no reply; before `begin` they wait for it."""
        if self._is_begun:
            self._log.append(*bodies, durable=False)
        else:
            self._waiting.extend(bodies)

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
        state = self._state
        state.questions += 1
        number, tool_calls_before = state.questions, state.tool_calls
        digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()
        # Not durable by itself: it survives the death of this process, which is what it is for.
        self._log.append(QuestionStarted(number=number, question_digest=digest), durable=False)
        ruling, is_delivered = await self._judged(question)
        # From here to the end nothing is awaited: parallel questions are counted one by one.
        ruling = self._apply_rules(ruling)
        self._log.append(
            Question(
                number=number,
                question=question,
                response=ruling.response,
                blocker_id=ruling.blocker_id,
                outcome=ruling.outcome,
                verdict=_verdict_entry(ruling.verdict) if ruling.verdict else None,
                flags=ruling.flags,
                error=ruling.error,
                tool_calls_before=tool_calls_before,
                meta=dict(meta),
            )
        )
        if ruling.blocker_id is not None:
            state.answers.add(ruling.blocker_id)
        if not is_delivered:
            self.note(Delivery(number=number, delivered=False))
            await anyio.lowlevel.checkpoint()  # raises: the caller is cancelled
        return ruling.response

    def record_call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        result: str,
        *,
        is_error: bool,
        started: float,
        flags: Sequence[str] = (),
    ) -> None:
        """Write down one call of another tool, before its reply leaves.

        Args:
            tool: The tool's name as it was called.
            arguments: As sent.
            result: The reply's whole text.
            is_error: Whether the reply is an error result.
            started: `time.perf_counter()` when the call came.
            flags: What is remarkable about it.
        """
        data = result.encode("utf-8", "surrogatepass")
        self._state.tool_calls += 1
        self._log.append(
            ToolCall(
                tool=tool,
                arguments=dict(arguments),
                result_text=result[:RESULT_TEXT_LIMIT],
                result_length=len(result),
                result_digest=hashlib.sha256(data).hexdigest(),
                is_error=is_error,
                duration_ms=round((time.perf_counter() - started) * 1000, 3),
                flags=list(flags),
            )
        )

    async def submit(self, kind: SubmissionKind, content: str) -> None:
        """Write down an answer to the task; the last one counts. Does not end the session."""
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        self._log.append(Submission(kind=kind, content=content, digest=digest))

    async def close(self, reason: EndReason) -> None:
        """End the session and give the log back; a session that never began leaves none.

        Questions that are being judged get `SHUTDOWN_GRACE_S`, and are on disk before this returns.

        Raises:
            LogWriteError: The end could not be written down; the log is given back all the same.
        """
        self._is_closing = True
        with anyio.CancelScope(shield=True):
            for judging in self._judging:
                judging.deadline = min(judging.deadline, anyio.current_time() + SHUTDOWN_GRACE_S)
            while self._judging:
                self._idle = anyio.Event()
                await self._idle.wait()
                await anyio.lowlevel.checkpoint()  # lets the question be written
        if not self._is_begun and self._resumed is None:
            self._log.discard()
            return
        try:
            if self._is_begun:
                self._log.append(SessionEnd(reason=reason))
        finally:
            self._log.close()

    async def _judged(self, question: str) -> tuple[_Ruling, bool]:
        """What the judge decides, and whether the agent is still there to hear it."""
        if is_too_short(question):
            return _Ruling(outcome="too_short", response=IRRELEVANT), True
        if self._state.answers.is_used_up:
            return _Ruling(outcome="capped", response=IRRELEVANT), True
        if self._judge is None:
            return _failed("internal", 0, "this mode has no judge"), True
        left_s = anyio.current_effective_deadline() - anyio.current_time()
        within_s = max(0.0, min(JUDGE_DEADLINE_S, left_s - REPLY_RESERVE_S))
        try:
            ruling = await self._decided(self._judge, question, within_s=within_s)
        except anyio.get_cancelled_exc_class():
            # The agent went. Its question is asked anew, behind a shield: what was asked counts.
            return await self._decided_for_nobody(self._judge, question), False
        if ruling is None and self._is_closing:
            ruling = _agent_gone()
        return ruling or _failed("timeout", 1, f"no verdict within {within_s:.3g} s"), True

    async def _decided_for_nobody(self, judge: Judge, question: str) -> _Ruling:
        ruling = None
        with anyio.CancelScope(shield=True):
            ruling = await self._decided(judge, question, within_s=SHUTDOWN_GRACE_S)
        return ruling or _agent_gone()

    async def _decided(self, judge: Judge, question: str, *, within_s: float) -> _Ruling | None:
        """What the judge says, or None when it says nothing in time."""
        with anyio.move_on_after(within_s) as judging:
            self._judging.add(judging)
            try:
                return self._ruling_of(await judge.decide(question, self.task.registry))
            except JudgeError as exc:
                return _failed(exc.error_class, exc.attempts, str(exc))
            except Exception:
                # A failed judge is never a "no", and its message may hold a resolution.
                logger.exception("the judge failed in a way that it does not declare")
                return _failed("internal", 1, "the judge failed; see the server's diagnostics")
            finally:
                self._judging.discard(judging)
                self._idle.set()
        return None

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


def new_session_id() -> str:
    """An opaque id that says nothing of the task."""
    return secrets.token_hex(8)


def is_too_short(text: str) -> bool:
    """Whether a reader would see fewer than three characters.

    Separators, controls and zero-width characters are not seen.
    """
    seen = (char for char in text if unicodedata.category(char)[0] not in "ZC")
    return sum(1 for _ in islice(seen, SHORTEST_QUESTION)) < SHORTEST_QUESTION


def judge_info(fingerprint: JudgeFingerprint) -> JudgeInfo:
    """The judge as `session_start` names it."""
    return JudgeInfo.model_validate({**fingerprint.as_dict(), "fingerprint": fingerprint.digest})


def _failed(error_class: str, attempts: int, cause: str) -> _Ruling:
    error = ErrorEntry(class_=error_class, attempts=attempts, cause=cause)
    return _Ruling(outcome="cant_answer", response=CANT_ANSWER, error=error)


def _agent_gone() -> _Ruling:
    return _failed(AGENT_GONE, 1, "the agent went while the question was judged")


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
