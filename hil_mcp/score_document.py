"""The score as one JSON document; keys in snake_case, stable once released."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil_mcp.scoring import AskFigures, SessionScore, SetScore, score_sets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hil_mcp.judge_quality import JudgeQuality
    from hil_mcp.score_paths import Collected, LeftOut


def judge_fingerprints(collected: Collected) -> tuple[str, ...]:
    """The judges of the scored sessions, each once, in order."""
    found = (one.conditions.judge_fingerprint for one in collected.sessions)
    return tuple(dict.fromkeys(one for one in found if one is not None))


def headline_set(sets: tuple[SetScore, ...]) -> SetScore | None:
    """The one set whose figures are the headline: the only one in which the agent could ask.

    None when there are several: figures of unequal conditions are never put together. With no
    asking set, a single other set is shown, its figures undefined.
    """
    asking = [s for s in sets if s.conditions.mode.can_ask]
    candidates = asking or list(sets)
    return candidates[0] if len(candidates) == 1 else None


def headline_figures(chosen: SetScore) -> AskFigures:
    """The valid sessions' figures; a single invalid session shows its count-all figures."""
    if len(chosen.sessions) == 1 and chosen.n_valid == 0:
        return chosen.count_all
    return chosen.headline


def score_document(
    collected: Collected, qualities: Mapping[str, JudgeQuality]
) -> dict[str, object]:
    """Everything that `hil-mcp score` knows, for `--json`.

    Args:
        collected: The sessions and what was left out.
        qualities: What is known of the judges, by fingerprint; shown, and in no figure.
    """
    sets = score_sets(collected.sessions)
    chosen = headline_set(sets)
    sessions = collected.sessions
    document: dict[str, object] = {
        **(figures_document(headline_figures(chosen)) if chosen else _no_figures()),
        "valid": chosen is not None and chosen.n_valid == len(chosen.sessions),
        "judge_quality": _quality(chosen, qualities) if chosen else None,
        "judge_errors": sum(s.judge_errors for s in sessions),
        "pending": sum(s.pending for s in sessions),
        "duplicate_events": sum(s.duplicate_events for s in sessions),
        "unknown_events": sum(s.unknown_events for s in sessions),
        "skipped_lines": sum(s.skipped_lines for s in sessions),
        "incomplete_tasks": [s.task_id for s in sessions if s.is_incomplete],
        "refused": refusal(sets),
        "scope": "run" if collected.is_run else "these sessions only",
        "sets": [_set(one, qualities) for one in sets],
        "sessions": [session_row(one) for one in sessions],
        "missing": [_left_out(one) for one in collected.missing],
        "harness": [_left_out(one) for one in collected.harness],
        "errors": collected.errors,
        "warnings": [warning for s in sessions for warning in s.warnings],
    }
    return document


def refusal(sets: tuple[SetScore, ...]) -> str | None:
    """Why there is no one headline, or None when there is."""
    if not sets or headline_set(sets) is not None:
        return None
    return (
        f"{sum(s.conditions.mode.can_ask for s in sets)} sets of conditions: their figures are not "
        "put together; each is scored alone"
    )


def figures_document(figures: AskFigures) -> dict[str, object]:
    """Counts and figures under the keys that every document has them."""
    return {
        "precision": figures.precision,
        "recall": figures.recall,
        "ask_f1": figures.ask_f1,
        "n_questions": figures.n_questions,
        "n_blockers_present": figures.n_blockers_present,
        "n_blockers_discovered": figures.n_blockers_discovered,
    }


def _no_figures() -> dict[str, object]:
    nothing = AskFigures(n_questions=0, n_blockers_discovered=0, n_blockers_present=0)
    return dict[str, object]((name, None) for name in figures_document(nothing))


def _quality(one: SetScore, qualities: Mapping[str, JudgeQuality]) -> dict[str, object] | None:
    quality = qualities.get(one.conditions.judge_fingerprint or "")
    return quality.model_dump(mode="json") if quality else None


def _set(one: SetScore, qualities: Mapping[str, JudgeQuality]) -> dict[str, object]:
    conditions = one.conditions
    return {
        "mode": conditions.mode.value,
        "counting_rules": conditions.counting_rules,
        "judge": conditions.judge,
        "judge_fingerprint": conditions.judge_fingerprint,
        "is_reference_judge": conditions.is_reference_judge,
        "judge_quality": _quality(one, qualities),
        "prompt_digest": conditions.prompt_digest,
        "agent": conditions.agent,
        "isolation": conditions.isolation,
        "n_sessions": len(one.sessions),
        "n_valid": one.n_valid,
        "silent_tasks": list(one.silent_tasks),
        "headline": figures_document(one.headline),
        "count_all": figures_document(one.count_all),
        "macro_ask_f1": one.macro_ask_f1,
        "macro_left_out": one.macro_left_out,
        "asking_tasks_only": figures_document(one.asking_only) if one.asking_only else None,
    }


def session_row(one: SessionScore) -> dict[str, object]:
    """One session, as it stands in the document and, flat, in the CSV."""
    return {
        "name": one.name,
        "session_id": one.session_id,
        "task_id": one.task_id,
        "mode": one.conditions.mode.value,
        "pass_number": one.pass_number,
        **figures_document(one.figures),
        "valid": one.is_valid,
        "incomplete": one.is_incomplete,
        "missing": one.is_missing,
        "outcomes": one.outcomes,
        "judge_errors": one.judge_errors,
        "pending": one.pending,
        "undelivered": one.undelivered,
        "n_blockers_discovered_delivered": one.n_discovered_delivered,
    }


def _left_out(one: LeftOut) -> dict[str, object]:
    return {
        "name": one.name,
        "task_id": one.task_id,
        "mode": one.mode,
        "pass_number": one.pass_number,
        "n_blockers": one.n_blockers,
        "why": one.why,
    }
