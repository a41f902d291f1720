"""Ask-F1: a pure function of session logs.

q = all `question` events, d = distinct discovered blockers, b = blockers of the task.
Precision d/q is undefined (None) at q = 0; recall is d/b; Ask-F1 = 2d/(q+b), so silence scores 0
and stays in every mean. All three are None in modes without ask_human and when b = 0. Sets are
micro: sums of d, q and b (docs/session-log.md; the paper's definition with undefined kept apart).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil_mcp.events import Delivery, Question, QuestionStarted
from hil_mcp.session import AGENT_GONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hil_mcp.events import AgentInfo, JudgeInfo
    from hil_mcp.modes import Mode
    from hil_mcp.session_reader import SessionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class AskFigures:
    """The counts and what follows from them.

    Attributes:
        n_questions: q.
        n_blockers_discovered: d.
        n_blockers_present: b.
        is_defined: False in modes without ask_human: then every figure is None.
    """

    n_questions: int
    n_blockers_discovered: int
    n_blockers_present: int
    is_defined: bool = True

    @property
    def precision(self) -> float | None:
        """d/q in [0, 1]; None when nobody asked."""
        if not self._has_blockers or self.n_questions == 0:
            return None
        return self.n_blockers_discovered / self.n_questions

    @property
    def recall(self) -> float | None:
        """d/b in [0, 1]."""
        if not self._has_blockers:
            return None
        return self.n_blockers_discovered / self.n_blockers_present

    @property
    def ask_f1(self) -> float | None:
        """2d/(q+b) in [0, 1]; 0 when nobody asked."""
        if not self._has_blockers:
            return None
        return 2 * self.n_blockers_discovered / (self.n_questions + self.n_blockers_present)

    @property
    def _has_blockers(self) -> bool:
        return self.is_defined and self.n_blockers_present > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionScore:
    """What one session comes to.

    Attributes:
        name: The log's path, or the id of an imported record or of a planned attempt.
        conditions: What must be equal for sessions to be put together.
        outcomes: Number of questions for each outcome.
        judge_errors: Questions that ended in `cant_answer` through no fault of the agent.
        pending: Questions that a dying server left without an answer.
        undelivered: Questions whose answer did not reach the agent.
        n_discovered_delivered: d as the agent saw it: without the answers that did not reach it.
        is_valid: False when a judge failed or the server died while judging.
        is_incomplete: The session was never closed.
        is_missing: Planned, and no log is there.
    """

    name: str
    task_id: str
    conditions: ScoreConditions
    figures: AskFigures
    outcomes: dict[str, int]
    session_id: str | None = None
    pass_number: int | None = None
    judge_errors: int = 0
    pending: int = 0
    undelivered: int = 0
    n_discovered_delivered: int = 0
    is_valid: bool = True
    is_incomplete: bool = False
    is_missing: bool = False
    duplicate_events: int = 0
    unknown_events: int = 0
    skipped_lines: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConditions:
    """What must be equal for figures to be put together. Unknown parts are None."""

    mode: Mode
    counting_rules: str | None = None
    judge: str | None = None
    """Backend, model and policy in words."""
    judge_fingerprint: str | None = None
    prompt_digest: str | None = None
    isolation: str | None = None
    agent: str | None = None
    is_reference_judge: bool = False

    def in_words(self) -> str:
        """One line that names every part that is known."""
        parts = [
            f"mode {self.mode}",
            f"rules {self.counting_rules or 'unknown'}",
            f"judge {self.judge or 'unknown'}",
        ]
        if self.judge_fingerprint:
            parts.append(f"fingerprint {self.judge_fingerprint[:12]}")
        if self.agent:
            parts.append(f"agent {self.agent}")
        if self.isolation:
            parts.append(f"isolation {self.isolation}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetScore:
    """Sessions under one set of conditions.

    Attributes:
        headline: Micro figures over the valid sessions.
        count_all: Micro figures over all sessions, failed judgements counted as questions.
        macro_ask_f1: Mean of the valid sessions' Ask-F1.
        macro_left_out: Valid sessions whose Ask-F1 is undefined, left out of that mean.
        asking_only: Micro figures over the valid sessions that asked at least once: the release's
            recall (docs/release.md, section 4). None when nobody asked.
    """

    conditions: ScoreConditions
    sessions: tuple[SessionScore, ...]
    headline: AskFigures
    count_all: AskFigures
    macro_ask_f1: float | None
    macro_left_out: int
    asking_only: AskFigures | None

    @property
    def n_valid(self) -> int:
        """Sessions in the headline."""
        return sum(session.is_valid for session in self.sessions)

    @property
    def silent_tasks(self) -> tuple[str, ...]:
        """Tasks of sessions in which nobody asked, each once, in order."""
        silent = (s.task_id for s in self.sessions if s.figures.n_questions == 0)
        return tuple(dict.fromkeys(silent))


def score_session(record: SessionRecord) -> SessionScore:
    """Score one log; it needs nothing but the log."""
    start = record.start
    questions = record.of(Question)
    undelivered = {event.number for event in record.of(Delivery) if not event.delivered}
    outcomes: dict[str, int] = {}
    for question in questions:
        outcomes[question.outcome] = outcomes.get(question.outcome, 0) + 1
    judge_errors = sum(
        q.outcome == "cant_answer" and (q.error is None or q.error.class_ != AGENT_GONE)
        for q in questions
    )
    answered = {q.number for q in questions}
    pending = sum(event.number not in answered for event in record.of(QuestionStarted))
    return SessionScore(
        name=str(record.path),
        task_id=start.task_id,
        session_id=start.session_id,
        pass_number=start.pass_number,
        conditions=score_conditions(
            start.mode,
            counting_rules=start.counting_rules,
            judge=start.judge,
            prompt_digest=start.prompt_digest,
            isolation=start.isolation,
            agent=start.agent,
        ),
        figures=AskFigures(
            n_questions=len(questions),
            n_blockers_discovered=len({q.blocker_id for q in questions} - {None}),
            n_blockers_present=start.n_blockers,
            is_defined=start.mode.can_ask,
        ),
        outcomes=outcomes,
        judge_errors=judge_errors,
        pending=pending,
        undelivered=len(undelivered),
        n_discovered_delivered=len(
            {q.blocker_id for q in questions if q.number not in undelivered} - {None}
        ),
        is_valid=judge_errors == 0 and pending == 0,
        is_incomplete=not record.is_ended,
        duplicate_events=record.duplicate_events,
        unknown_events=record.unknown_events,
        skipped_lines=record.skipped_lines,
        warnings=(*record.warnings, *_changed_judge(record)),
    )


def _changed_judge(record: SessionRecord) -> Iterator[str]:
    judge = record.start.judge
    verdicts = [q.verdict for q in record.of(Question) if q.verdict is not None]
    other = sum(judge is None or verdict.fingerprint != judge.fingerprint for verdict in verdicts)
    if other:
        yield (
            f"{record.path}: {other} of {len(verdicts)} verdicts have another judge's fingerprint "
            "than the session began with: its server was not there at first, or has changed"
        )


def score_conditions(
    mode: Mode,
    *,
    counting_rules: str,
    judge: JudgeInfo | None,
    prompt_digest: str,
    isolation: str | None,
    agent: AgentInfo | None,
) -> ScoreConditions:
    """The conditions of a session, or of a planned attempt that left no log."""
    return ScoreConditions(
        mode=mode,
        counting_rules=counting_rules,
        judge=_in_words(judge.backend, judge.model, judge.policy) if judge else None,
        judge_fingerprint=judge.fingerprint if judge else None,
        prompt_digest=prompt_digest,
        isolation=isolation,
        agent=_in_words(agent.name, agent.version, agent.model) if agent else None,
        is_reference_judge=judge is not None and is_reference(judge.backend, judge.model),
    )


def _in_words(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)


def score_sets(sessions: Iterable[SessionScore]) -> tuple[SetScore, ...]:
    """Put sessions of equal conditions together; figures of unequal ones are never added up."""
    groups: dict[ScoreConditions, list[SessionScore]] = {}
    for session in sessions:
        groups.setdefault(session.conditions, []).append(session)
    return tuple(_score_set(conditions, group) for conditions, group in groups.items())


def micro(sessions: Iterable[SessionScore], *, is_defined: bool = True) -> AskFigures:
    """Sums of q, d and b over sessions."""
    figures = [session.figures for session in sessions]
    return AskFigures(
        n_questions=sum(f.n_questions for f in figures),
        n_blockers_discovered=sum(f.n_blockers_discovered for f in figures),
        n_blockers_present=sum(f.n_blockers_present for f in figures),
        is_defined=is_defined,
    )


REFERENCE_MODEL = "llama-3.3-70b-instruct"
"""Part of the reference judge's model id, in lower case (docs/release.md, section 3)."""


def is_reference(backend: str, model: str | None) -> bool:
    """Whether a judge is the published one: Llama-3.3-70B-Instruct on a local server."""
    return backend == "vllm" and REFERENCE_MODEL in (model or "").lower()


def _score_set(conditions: ScoreConditions, sessions: Sequence[SessionScore]) -> SetScore:
    can_ask = conditions.mode.can_ask
    valid = [session for session in sessions if session.is_valid]
    defined = [s.figures.ask_f1 for s in valid if s.figures.ask_f1 is not None]
    asking = [session for session in valid if session.figures.n_questions > 0]
    return SetScore(
        conditions=conditions,
        sessions=tuple(sessions),
        headline=micro(valid, is_defined=can_ask),
        count_all=micro(sessions, is_defined=can_ask),
        macro_ask_f1=sum(defined) / len(defined) if defined else None,
        macro_left_out=len(valid) - len(defined),
        asking_only=micro(asking) if asking and can_ask else None,
    )
