"""When it is enough."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.plan.stopping import (
    MIN_BLOCKS,
    StopReason,
    decide,
    median_interval,
    relative_half_width,
)
from culvert.study.rule import StopRule

QUICK = settings(deadline=None, max_examples=50)
FIGURES = st.lists(st.floats(1e-6, 1e12), min_size=MIN_BLOCKS, max_size=40)


@pytest.mark.parametrize("text", ["ci <= 2%", "ci<=2%", "  ci  <=  2 % "])
def test_a_rule_is_read_and_written(text: str) -> None:
    rule = StopRule.parse(text)
    assert rule.half_width == 0.02
    assert StopRule.parse(str(rule)) == rule


@pytest.mark.parametrize("text", ["", "ci", "ci <= 2", "ci < 2%", "ci <= -1%", "sd <= 2%"])
def test_what_is_not_a_rule(text: str) -> None:
    with pytest.raises(ValueError, match=r"rule|unit|share"):
        StopRule.parse(text)


@QUICK
@given(FIGURES)
def test_an_interval_lies_within_the_values_and_around_the_median(values: list[float]) -> None:
    sample = np.array(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = median_interval(sample, 0.95)
    # Interpolation between equal values may be one rounding off.
    slack = 1e-12 * sample.max()
    assert sample.min() - slack <= low <= high + slack <= sample.max() + 2 * slack


@QUICK
@given(FIGURES, st.integers(-20, 20))
def test_the_width_has_no_unit(values: list[float], power: int) -> None:
    # Powers of two scale without rounding, so that ties stay ties.
    width = relative_half_width(values)
    assert width is not None
    assert relative_half_width([value * 2.0**power for value in values]) == width


def test_equal_values_are_precise_and_few_are_not() -> None:
    assert relative_half_width([5.0] * MIN_BLOCKS) == 0.0
    assert relative_half_width([0.0] * MIN_BLOCKS) == 0.0
    assert relative_half_width([5.0] * (MIN_BLOCKS - 1)) is None
    assert relative_half_width([]) is None
    assert relative_half_width([-1.0, 0.0, 0.0, 0.0, 1.0]) is None


def test_the_width_shrinks_as_it_should() -> None:
    # The median of n normal values has the standard error 1.2533 sd / sqrt(n).
    rng = np.random.default_rng(3)
    values = rng.normal(100.0, 5.0, size=400)
    expected = 1.96 * 1.2533 * 0.05 / 20
    assert relative_half_width(values.tolist()) == pytest.approx(expected, rel=0.35)


def test_the_interval_covers_the_median() -> None:
    # 300 samples of 15 values: 95 % +- 2.5 % (two standard deviations); the seed is fixed.
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(300):
        low, high = median_interval(rng.lognormal(0.0, 0.3, size=15), 0.95)
        hits += low <= 1.0 <= high
    assert 0.90 <= hits / 300 <= 0.99


def test_a_decision_waits_for_every_cell() -> None:
    rule = StopRule(0.02)
    narrow = [100.0, 100.1, 99.9, 100.0, 100.2, 99.8]
    wide = [50.0, 150.0, 80.0, 120.0, 100.0, 60.0]
    decision = decide(rule, {"a": narrow, "b": wide, "c": narrow[:2]})
    assert not decision.stop
    assert decision.open == ("b", "c")
    assert decision.half_widths["c"] is None
    assert decide(rule, {"a": narrow}).reason is StopReason.PRECISE
    assert decide(rule, {}).stop
