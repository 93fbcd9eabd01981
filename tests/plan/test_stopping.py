"""When it is enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.plan.precision import (
    MIN_BLOCKS,
    Precision,
    PrecisionState,
    precision_of,
    relative_half_widths,
)
from culvert.plan.stopping import Open, OpenQuestions, StopReason, decide
from culvert.study.blocks import StopRule

QUICK = settings(deadline=None, max_examples=50)
FIGURES = st.lists(st.floats(1e-6, 1e12), min_size=MIN_BLOCKS, max_size=40)


def half_width(values: list[float]) -> float | None:
    return relative_half_widths({"x": np.array(values)})["x"]


@pytest.mark.parametrize("text", ["ci <= 2%", "ci<=2%", "  ci  <=  2 % "])
def test_a_rule_is_read_and_written(text: str) -> None:
    rule = StopRule.parse(text)
    assert rule.half_width == 0.02
    assert StopRule.parse(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("claims decided", StopRule(claims=True)),
        ("ranks decided", StopRule(ranks=True)),
        ("ci <= 2% or claims decided", StopRule(0.02, claims=True)),
        ("claims  decided  and  ci<=0.5%", StopRule(0.005, claims=True, every=True)),
        (
            "ranks decided and ci <= 1% and claims decided",
            StopRule(0.01, claims=True, ranks=True, every=True),
        ),
    ],
)
def test_rules_about_questions(text: str, rule: StopRule) -> None:
    assert StopRule.parse(text) == rule
    assert StopRule.parse(str(rule)) == rule


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ci",
        "ci <= 2",
        "ci < 2%",
        "ci <= -1%",
        "sd <= 2%",
        "ci <= 2% or ci <= 1%",
        "claims",
        "claims decided and",
        "claims decided and claims decided",
        "ci <= 2% and claims decided or ranks decided",
    ],
)
def test_what_is_not_a_rule(text: str) -> None:
    with pytest.raises(ValueError, match=r"rule|unit|share"):
        StopRule.parse(text)


@QUICK
@given(FIGURES, st.integers(-20, 20))
def test_the_width_has_no_unit(values: list[float], power: int) -> None:
    # Powers of two scale without rounding, so that ties stay ties.
    width = half_width(values)
    assert width is not None
    assert half_width([value * 2.0**power for value in values]) == width


def test_equal_values_are_precise_and_few_are_not() -> None:
    assert half_width([5.0] * MIN_BLOCKS) == 0.0
    assert half_width([0.0] * MIN_BLOCKS) == 0.0
    assert half_width([5.0] * (MIN_BLOCKS - 1)) is None
    assert half_width([]) is None
    assert half_width([-1.0, 0.0, 0.0, 0.0, 1.0]) is None


def test_the_width_shrinks_as_it_should() -> None:
    # The median of n normal values has the standard error 1.2533 sd / sqrt(n).
    rng = np.random.default_rng(3)
    values = rng.normal(100.0, 5.0, size=400)
    expected = 1.96 * 1.2533 * 0.05 / 20
    assert half_width(values.tolist()) == pytest.approx(expected, rel=0.35)


def test_a_journal_may_have_the_words_of_an_older_version() -> None:
    assert StopReason("every claim is decided") is StopReason.CLAIMS
    with pytest.raises(ValueError, match="is not a valid StopReason"):
        StopReason("every claim")


def test_a_decision_waits_for_every_cell() -> None:
    rule = StopRule(0.02)
    narrow = [100.0, 100.1, 99.9, 100.0, 100.2, 99.8]
    wide = [50.0, 150.0, 80.0, 120.0, 100.0, 60.0]
    decision = decide(rule, {"a": narrow, "b": wide, "c": narrow[:2]})
    assert not decision.stop
    assert [key for key, cell in decision.cells.items() if not cell.state.settled] == ["b", "c"]
    assert decision.cells["c"].half_width is None
    assert decision.resting == {"a"}
    assert decide(rule, {"a": narrow}).reason is StopReason.PRECISE
    assert decide(rule, {}).stop


def ar1(rho: float, n: int, *, sd: float = 1.0, seed: int = 1) -> list[float]:
    """Values around 100 with that correlation of neighbours and that deviation."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0.0, sd * np.sqrt(1 - rho**2), n)
    values = [rng.normal(0.0, sd)]
    for step in noise[1:]:
        values.append(rho * values[-1] + step)
    return [100.0 + value for value in values]


def judged(values: list[float], asked: float = 0.02, most: int | None = None) -> Precision:
    return precision_of({"x": values}, asked, most=most)["x"]


def test_correlated_trials_are_worth_less() -> None:
    alone, together = judged(ar1(0.0, 60)), judged(ar1(0.8, 60))
    assert alone.effective_n == alone.n == 60
    assert together.effective_n < 30
    assert alone.half_width is not None
    assert together.half_width is not None
    assert together.half_width > 1.5 * alone.half_width
    assert f"effective sample size {together.effective_n:.0f}" in str(together)


def test_correlation_makes_a_precise_cell_imprecise() -> None:
    # By its values alone it would be precise: 60, of which the correlation leaves a few.
    values = ar1(0.8, 60, sd=2.0)
    asked = 1.01 * (half_width(sorted(values, key=lambda value: hash(str(value)))) or 0.0)
    assert judged(values, asked).state is PrecisionState.OPEN


def test_a_drifting_cell_is_not_precise_and_not_waited_for() -> None:
    values = [100.0 + 0.4 * n + noise - 100.0 for n, noise in enumerate(ar1(0.0, 40, sd=0.3))]
    found = judged(values)
    assert found.state is PrecisionState.DRIFTS
    assert "no number of repetitions" in str(found)
    decision = decide(StopRule(0.02), {"x": values})
    assert decision.reason is StopReason.SETTLED
    assert set(decision.imprecise) == {"x"}


def test_a_trend_that_is_smaller_than_what_is_asked_does_no_harm() -> None:
    values = [100.0 + 0.01 * n for n in range(40)]
    assert judged(values).state is PrecisionState.PRECISE


def test_noise_is_seldom_called_a_drift() -> None:
    # 400 series of independent values; the test's own level is 1 %. The seeds are fixed.
    alarms = sum(
        judged(ar1(0.0, 30, sd=5.0, seed=seed)).state is PrecisionState.DRIFTS
        for seed in range(400)
    )
    assert alarms <= 12


def test_a_hopeless_cell_is_given_up_only_when_there_is_no_doubt() -> None:
    noisy = ar1(0.0, 40, sd=40.0)
    assert judged(noisy, most=100).state is PrecisionState.HOPELESS
    assert "more than the plan has" in str(judged(noisy, most=100))
    assert judged(noisy).state is PrecisionState.OPEN
    assert judged(noisy[:12], most=100).state is PrecisionState.OPEN
    needed = judged(noisy, most=100).needed
    assert needed is not None
    assert judged(noisy, most=needed).state is PrecisionState.OPEN


@pytest.mark.parametrize("n", [5, 6, 9, 10, 30])
def test_many_cells_at_once_are_judged_as_each_alone(n: int) -> None:
    values = {str(seed): ar1(0.5, n + seed % 3, sd=3.0, seed=seed) for seed in range(20)}
    together = precision_of(values, 0.02, most=50)
    for key, found in values.items():
        alone = judged(found, most=50)
        assert together[key].half_width == pytest.approx(alone.half_width, rel=1e-9)
        assert replace(together[key], half_width=None) == replace(alone, half_width=None)


WIDE = {"a": ar1(0.0, 6, sd=20.0), "b": ar1(0.0, 6, sd=20.0, seed=2)}
NARROW = {"a": ar1(0.0, 6, sd=0.1), "b": ar1(0.0, 6, sd=0.1, seed=2)}


@pytest.mark.parametrize(
    ("text", "values", "claims", "reason", "resting"),
    [
        ("claims decided", WIDE, {}, StopReason.CLAIMS, {"a", "b"}),
        ("claims decided", WIDE, {"c": {"a"}}, StopReason.GO_ON, {"b"}),
        ("ci <= 2% or claims decided", WIDE, {}, StopReason.CLAIMS, set()),
        ("ci <= 2% or claims decided", NARROW, {"c": {"a"}}, StopReason.PRECISE, {"a", "b"}),
        ("ci <= 2% or claims decided", WIDE, {"c": {"a"}}, StopReason.GO_ON, set()),
        ("ci <= 2% and claims decided", NARROW, {"c": {"a"}}, StopReason.GO_ON, {"b"}),
        ("ci <= 2% and claims decided", WIDE, {}, StopReason.GO_ON, set()),
        ("claims decided and ci <= 2%", NARROW, {}, StopReason.CLAIMS, {"a", "b"}),
    ],
)
def test_rules_with_claims(
    text: str,
    values: dict[str, list[float]],
    claims: Open,
    reason: StopReason,
    resting: set[str],
) -> None:
    decision = decide(StopRule.parse(text), values, asked=OpenQuestions(claims=claims))
    assert decision.reason is reason
    assert decision.resting == resting


@pytest.mark.parametrize(
    ("text", "claims", "ranks", "reason"),
    [
        ("ranks decided", {"c": {"a"}}, {}, StopReason.RANKS),
        ("ranks decided", {}, {"r": {"b"}}, StopReason.GO_ON),
        ("claims decided and ranks decided", {}, {"r": {"b"}}, StopReason.GO_ON),
        ("claims decided and ranks decided", {"c": {"a"}}, {}, StopReason.GO_ON),
        ("claims decided and ranks decided", {}, {}, StopReason.QUESTIONS),
        ("claims decided or ranks decided", {}, {"r": {"b"}}, StopReason.CLAIMS),
        ("ci <= 2% and ranks decided", {}, {}, StopReason.RANKS),
    ],
)
def test_rules_with_ranks(text: str, claims: Open, ranks: Open, reason: StopReason) -> None:
    decision = decide(StopRule.parse(text), NARROW, asked=OpenQuestions(claims, ranks))
    assert decision.reason is reason


def test_without_precision_a_cell_rests_that_no_open_question_needs() -> None:
    asked = OpenQuestions({"c": {"a"}}, {"r": {"b"}})
    assert decide(StopRule.parse("ranks decided"), NARROW, asked=asked).resting == set()
    asked = OpenQuestions({}, {"r": {"b"}})
    assert decide(
        StopRule.parse("claims decided and ranks decided"), NARROW, asked=asked
    ).resting == {"a"}
