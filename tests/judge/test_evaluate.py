"""Figures of an evaluation, against values worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import anyio
import pytest

from judge.errors import PairsError
from judge.evaluate import Judged, evaluate, judge_of_task
from judge.figures import figures_of, percentiles
from judge.intervals import Share, to_f1
from judge.pairs import Pair
from judge.plot import plot_svg
from judge.rubric import tags_of
from judge.verdict import Verdict
from tests.support.judges import RuleJudge, ScriptedJudge, hiccup, verdict_for
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judge.figures import Figures
    from judge.verdict import JudgeFingerprint, RegistryView

REGISTRY = make_task("tide", "berth", "crew").registry


def _registry_of(_: str) -> RegistryView:
    return REGISTRY


def _pair(expected: str | None, kind: str = "paraphrase", question: str = "Which is it?") -> Pair:
    return Pair(task="t", question=question, expected=expected, kind=kind)


async def _judged(
    pairs: Sequence[Pair], decisions: Sequence[str | Exception | None], *, repeat: int = 1
) -> tuple[Judged, ...]:
    judge = ScriptedJudge(decisions)
    return await evaluate(
        lambda _id, _registry: judge, pairs, _registry_of, repeat=repeat, concurrency=1
    )


async def _figures(
    pairs: Sequence[Pair], decisions: Sequence[str | Exception | None], *, repeat: int = 1
) -> Figures:
    return figures_of(await _judged(pairs, decisions, repeat=repeat), _registry_of)


async def test_a_wrong_blocker_costs_precision_and_recall() -> None:
    figures = await _figures(
        [_pair("tide"), _pair("tide"), _pair("berth"), _pair(None), _pair(None)],
        ["tide", "berth", None, "crew", None],
    )

    quality = figures.quality
    assert (quality.precision.part, quality.precision.whole) == (1, 3)
    assert (quality.recall.part, quality.recall.whole) == (1, 3)
    assert quality.f1 == pytest.approx(2 * 1 / (3 + 3))
    assert (quality.n, figures.failed) == (5, 0)


async def test_a_failure_is_left_out_and_counted_apart() -> None:
    figures = await _figures([_pair("tide"), _pair("tide")], ["tide", hiccup()])

    assert figures.quality.recall.value == 1.0
    assert (figures.quality.n, figures.failed) == (1, 1)


async def test_each_failure_is_kept_with_its_pair_and_its_cause() -> None:
    pairs = [_pair("tide", question="Which tide?"), _pair("berth", question="Which berth?")]

    figures = await _figures(pairs, ["tide", hiccup(), hiccup("timeout"), "berth"], repeat=2)

    assert [(f.place, f.asking, f.question, f.error_class) for f in figures.failures] == [
        (1, 2, "Which tide?", "timeout"),
        (2, 1, "Which berth?", "http"),
    ]
    assert {f.cause for f in figures.failures} == {"the judge answered 500"}
    assert (figures.failed, figures.failed_answers) == (1, 2)


async def test_shares_without_anything_to_count_are_undefined() -> None:
    figures = await _figures([_pair(None)], [None])

    assert figures.quality.precision.value is None
    assert figures.quality.precision.interval is None
    assert figures.quality.f1 is None


async def test_kinds_and_types_are_counted_apart() -> None:
    figures = await _figures(
        [_pair("tide"), _pair(None, "generic"), _pair(None, "generic")], [None, "crew", None]
    )

    assert {
        name: (group.n, group.matched, group.correct) for name, group in figures.by_kind.items()
    } == {"paraphrase": (1, 0, 0), "generic": (2, 1, 1)}
    assert {name: (g.n, g.correct) for name, g in figures.by_type.items()} == {
        "missing parameters": (1, 0)
    }


async def test_the_flip_rate_counts_pairs_whose_verdict_changes() -> None:
    pairs = [_pair("tide"), _pair("berth"), _pair(None)]

    figures = await _figures(
        pairs, ["tide", "berth", None, "tide", None, None, "tide", "berth", hiccup()], repeat=3
    )
    once = await _figures(pairs, ["tide", "berth", None])

    assert figures.flips == Share(part=1, whole=3)
    assert (figures.repeats, figures.failed, figures.failed_answers) == (3, 0, 1)
    assert figures.quality.recall.value == 1.0
    assert once.flips is None


async def test_the_flip_rate_is_of_pairs_with_two_verdicts() -> None:
    pairs = [_pair(None), _pair("tide"), _pair("berth")]
    rounds = [[None, hiccup(), "berth"], [hiccup(), "tide", "berth"], [hiccup(), None, "berth"]]

    figures = await _figures(pairs, [answer for once in rounds for answer in once], repeat=3)

    assert figures.flips == Share(part=1, whole=2)
    assert (figures.failed, figures.failed_answers) == (1, 3)


async def test_blockers_that_no_question_reaches_are_listed() -> None:
    figures = await _figures(
        [_pair("tide"), _pair("tide"), _pair("berth"), _pair("berth")],
        ["tide", None, None, "crew"],
    )

    assert [(one.blocker_id, one.asked) for one in figures.unreached] == [("berth", 2)]


async def test_each_disagreement_says_what_may_explain_it() -> None:
    own = REGISTRY.blockers[0].example_questions[0]
    figures = await _figures(
        [_pair("tide", question=own), _pair("crew", question="The crew sails. Is it all of it?")],
        [None, "tide"],
    )

    first, second = figures.disagreements
    assert (first.expected, first.got, first.tags) == ("tide", None, ("own_example",))
    assert second.tags == ("no_question_word", "rubric_contradiction")


async def test_an_example_that_was_hidden_from_the_judge_explains_nothing() -> None:
    own = REGISTRY.blockers[0].example_questions[0]
    hidden = Pair(task="t", question=own, expected="tide", kind="paraphrase", hide_example=True)

    figures = await _figures([hidden, _pair("tide", question=own)], [None, None])

    assert [one.tags for one in figures.disagreements] == [(), ("own_example",)]


@pytest.mark.parametrize(
    ("question", "tags"),
    [
        ("Which tide?", ()),
        ("Should it be rounded?", ("no_question_word",)),
        ("The rules page names no hour. What hour should I use?", ("rubric_contradiction",)),
        ("Which hour (e.g. 18.30) is late?", ()),
    ],
)
def test_a_questions_form_is_tagged(question: str, tags: tuple[str, ...]) -> None:
    assert tags_of(question, REGISTRY) == tags


class _SureJudge:
    """Matches `tide` with the confidence that stands in the question."""

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        return Verdict(
            blocker_id="tide",
            reason="",
            confidence=float(question),
            latency_ms=float(question) * 100,
            tokens=7,
            fingerprint=self.fingerprint.digest,
        )

    @property
    def fingerprint(self) -> JudgeFingerprint:
        return ScriptedJudge([]).fingerprint


async def test_the_curve_drops_the_least_sure_matches_first() -> None:
    pairs = [
        _pair(expected, question=sure)
        for sure, expected in (("0.9", "tide"), ("0.6", "berth"), ("0.7", "tide"), ("0.7", None))
    ]
    judge = _SureJudge()

    figures = figures_of(
        await evaluate(lambda _id, _registry: judge, pairs, _registry_of), _registry_of
    )

    assert [(p.threshold, p.precision, round(p.recall, 3)) for p in figures.curve] == [
        (0.6, 0.5, 0.667),
        (0.7, pytest.approx(2 / 3), 0.667),
        (0.9, 1.0, 0.333),
    ]
    assert figures.latency_ms == {50: 70.0, 90: 90.0, 99: 90.0}
    assert figures.tokens == 28
    plot = ET.fromstring(plot_svg("a <b>", figures.quality, figures.curve))
    texts = "".join(plot.itertext())
    assert "precision 0.500, recall 0.667" in texts
    assert "a <b>" in texts
    line = next(one for one in plot.iter() if one.tag.endswith("polyline"))
    assert len(line.attrib["points"].split()) == 3


async def test_answers_without_the_judges_work_have_no_part_in_its_latency() -> None:
    verdict = verdict_for(None)
    answers = [
        replace(verdict, latency_ms=200.0),
        replace(verdict, latency_ms=0.0, attempts=0),
        replace(verdict, latency_ms=1.0, source="cache"),
    ]

    figures = figures_of([Judged(pair=_pair(None), answers=[one]) for one in answers], _registry_of)

    assert figures.latency_ms == {50: 200.0, 90: 200.0, 99: 200.0}


def test_a_plot_without_a_curve_or_a_point_is_still_a_plot() -> None:
    figures = figures_of([], _registry_of)

    plot = ET.fromstring(plot_svg("none", figures.quality, figures.curve))

    tags = [one.tag.rpartition("}")[2] for one in plot.iter()]
    assert "rect" in tags
    assert "circle" not in tags
    assert "polyline" not in tags


# By hand, with z = 1.96: 8 of 10 -> centre (0.8 + 0.19208) / 1.38416, and so on; the values agree
# with the usual tables.
@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (0, 20, 0.0, 0.1611),
        (20, 20, 0.8389, 1.0),
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_wilson_intervals_are_those_of_the_tables(
    part: int, whole: int, low: float, high: float
) -> None:
    interval = Share(part=part, whole=whole).interval

    assert interval is not None
    assert interval == pytest.approx((low, high), abs=1e-4)


def test_intervals_of_none_and_of_all_end_exactly_at_0_and_1() -> None:
    for whole in range(1, 200):
        none = Share(part=0, whole=whole).interval
        everything = Share(part=whole, whole=whole).interval

        assert none is not None
        assert none[0] == 0.0
        assert everything is not None
        assert everything[1] == 1.0


def test_f1_follows_from_the_share_of_hits_among_everything_that_matters() -> None:
    assert to_f1(1 / 5) == pytest.approx(2 * 1 / (3 + 3))


def test_percentiles_are_by_nearest_rank() -> None:
    assert percentiles([float(n) for n in range(1, 101)]) == {50: 50.0, 90: 90.0, 99: 99.0}
    assert percentiles([]) == {}


class _Fitted(ScriptedJudge):
    """Says `tide` itself, and lets a part that never saw the task say `berth`."""

    def for_evaluation(self, task_id: str, registry: RegistryView) -> ScriptedJudge:
        return ScriptedJudge(["berth" if task_id == "t" else None])


async def test_a_fitted_judge_is_asked_by_a_part_that_never_saw_the_task() -> None:
    fitted = _Fitted(["tide"])
    plain = ScriptedJudge(["tide"])

    by_part = await evaluate(judge_of_task(fitted), [_pair("berth")], _registry_of)
    await evaluate(judge_of_task(plain), [_pair("tide")], _registry_of)

    assert by_part[0].verdict is not None
    assert by_part[0].verdict.blocker_id == "berth"
    assert fitted.questions == []
    assert plain.questions == ["Which is it?"]


async def test_a_pair_of_another_version_of_the_task_is_refused() -> None:
    with pytest.raises(PairsError, match="task t has no blocker 'anchor'"):
        await _judged([_pair("anchor")], [None])


async def test_questions_are_asked_at_once_and_answers_stay_with_their_pairs() -> None:
    pairs = [_pair(None, question=f"{n}") for n in range(30)]
    asked = 0

    def count() -> None:
        nonlocal asked
        asked += 1

    judge = RuleJudge(lambda question: "tide" if int(question) % 3 == 0 else None)
    with anyio.fail_after(5):
        judged = await evaluate(
            lambda _id, _registry: judge, pairs, _registry_of, concurrency=7, on_answer=count
        )

    assert [one.verdict.blocker_id if one.verdict else "" for one in judged] == [
        "tide" if n % 3 == 0 else None for n in range(30)
    ]
    assert asked == 30
