from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from culvert.analysis.compare.verdict import (
    NOTHING,
    TOO_FEW,
    AdjustedPValues,
    Change,
    Tolerance,
    judge,
)
from culvert.analysis.declared import better_of, compared_metrics
from culvert.decide.contrast import (
    MOST,
    Contrast,
    more_repetitions,
    paired_contrast,
    unpaired_contrast,
)
from culvert.metrics import EVERY_TRIAL, Better
from culvert.study.catalogue import installed_measurements
from tests.analysis.compare.single import judge_single

figures = st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=5, max_size=30)


def _made(values: list[float]) -> Contrast:
    found = paired_contrast(values, cautious=True)
    assert found is not None
    return found


@given(figures, figures)
def test_turned_round_it_says_the_opposite(a: list[float], b: list[float]) -> None:
    there, back = unpaired_contrast(a, b), unpaired_contrast(b, a)
    assert there is not None
    assert back is not None
    assert there.estimate == pytest.approx(-back.estimate)
    assert there.p_two_sided() == pytest.approx(back.p_two_sided())
    assert there.p_above(1.0) == pytest.approx(back.p_below(-1.0))


@given(figures, st.floats(0.001, 1000))
def test_the_unit_does_not_matter(values: list[float], scale: float) -> None:
    assume(np.ptp(values) > 0.01)
    before, after = _made(values), _made([scale * value for value in values])
    assert after.p_two_sided() == pytest.approx(before.p_two_sided(), rel=1e-6)
    assert after.effective == pytest.approx(before.effective)


@given(figures)
def test_p_and_interval_agree(values: list[float]) -> None:
    contrast = _made(values)
    assume(contrast.se > 0)
    low, high = contrast.interval(0.95)
    assume(min(abs(low), abs(high)) > 1e-9)
    assert (low > 0 or high < 0) == (contrast.p_two_sided() < 0.05)
    low, high = contrast.interval(0.90)
    wide = 1.01 * max(abs(low), abs(high))
    assert contrast.p_between(-wide, wide) < 0.05
    assert contrast.p_above(0) + contrast.p_below(0) == pytest.approx(1)


@given(figures)
def test_trials_are_never_worth_more_than_they_are(values: list[float]) -> None:
    assert 1 <= _made(values).effective <= len(values)


def test_a_series_that_follows_itself_is_worth_less() -> None:
    walk = list(np.cumsum(np.random.default_rng(1).standard_normal(40)))
    noise = list(np.random.default_rng(1).standard_normal(40))
    assert _made(walk).effective < _made(noise).effective / 2
    assert _made(walk).correlated
    assert not _made(noise).correlated


def test_fewer_than_five_say_nothing() -> None:
    assert paired_contrast([1.0] * 4) is None
    assert unpaired_contrast([1.0] * 4, [1.0] * 10) is None
    told = judge(None, NOTHING, Tolerance.of_ratio(0.03), Better.MORE, 0.05)
    assert (told.change, told.why) == (Change.UNCLEAR, TOO_FEW)


@pytest.mark.parametrize(
    ("b", "direction", "change"),
    [
        (1500.0, Better.MORE, Change.FASTER),
        (1300.0, Better.MORE, Change.SLOWER),
        (1300.0, Better.LESS, Change.FASTER),
        (1300.0, Better.NEITHER, Change.CHANGED),
        (1400.0, Better.MORE, Change.SAME),
        (1401.0, Better.MORE, Change.SAME),
    ],
)
def test_figures_that_never_scatter(b: float, direction: Better, change: Change) -> None:
    contrast = unpaired_contrast([math.log(1400.0)] * 5, [math.log(b)] * 5)
    assert contrast is not None
    tolerance = Tolerance.of_ratio(0.03)
    told = judge_single(contrast, tolerance, direction, 0.05)
    assert told.change is change


def test_what_holm_took_away_is_not_said() -> None:
    contrast = unpaired_contrast([0.0, 0.01] * 5, [0.05, 0.06] * 5)
    assert contrast is not None
    for differs, beyond, change in (
        (0.01, 0.01, Change.FASTER),
        (0.01, 0.06, Change.DIFFERS),
        (0.06, 0.06, Change.UNCLEAR),
    ):
        evidence = AdjustedPValues(differs, beyond, same=1.0)
        told = judge(contrast, evidence, Tolerance.of_ratio(0.03), Better.MORE, 0.05)
        assert told.change is change


def test_in_blocks_of_random_order_a_contrast_is_a_paired_t_test() -> None:
    rng = np.random.default_rng(6)
    before, after = rng.normal(0, 1, (2, 9))
    found = paired_contrast(after - before)
    truth = stats.ttest_rel(after, before)
    assert found is not None
    assert found.p_two_sided() == pytest.approx(truth.pvalue)
    assert found.interval() == pytest.approx(tuple(truth.confidence_interval()))


@given(figures, st.floats(0, 50))
def test_outside_a_margin_is_what_is_tested(values: list[float], margin: float) -> None:
    contrast = _made(values)
    assume(contrast.se > 0)
    outside = contrast.p_outside(-margin, margin)
    assert outside >= contrast.p_two_sided() - 1e-12
    assert contrast.p_outside(0, 0) == pytest.approx(contrast.p_two_sided())
    nearer = min(contrast.p_above(margin), contrast.p_below(-margin))
    assert nearer <= outside <= 2 * nearer + 1e-12


@given(st.floats(0.1, 10), st.floats(0.01, 10))
def test_a_nearer_bound_takes_more_repetitions(se: float, distance: float) -> None:
    contrast = Contrast(0.0, se, 9.0, 10, 10.0, paired=True)
    far, near = (more_repetitions(contrast, d, 0.05) for d in (2 * distance, distance))
    assert far is None or 1 <= far <= MOST
    assert near is None or (far is not None and near >= far)


def test_the_number_of_repetitions_decides() -> None:
    rng = np.random.default_rng(5)
    first = paired_contrast(rng.normal(0.02, 0.05, 10))
    assert first is not None
    more = more_repetitions(first, 0.02, 0.025)
    assert more is not None
    runs = [paired_contrast(rng.normal(0.02, 0.05, 10 + 3 * more)) for _ in range(50)]
    assert sum(one is not None and one.p_two_sided() < 0.05 for one in runs) > 35
    assert more_repetitions(first, 0.0, 0.05) is None


@pytest.mark.parametrize(
    ("metric", "direction"),
    [
        ("goodput_bps", Better.MORE),
        ("cpu_s_per_gb", Better.LESS),
        ("cpu_vpn_s_per_gb", Better.LESS),
        ("rtt_p99_us", Better.LESS),
        ("rtt_loaded_p50_us", Better.LESS),
        ("loss_ratio", Better.LESS),
        ("pdr_pps", Better.MORE),
        ("ceiling_goodput_bps", Better.NEITHER),
        ("nobody_knows", Better.NEITHER),
    ],
)
def test_each_metric_has_its_better_direction(metric: str, direction: Better) -> None:
    assert better_of(metric) is direction


def test_what_is_compared_has_a_direction_and_is_measured() -> None:
    declared = {spec for one in installed_measurements().values() for spec in one.metrics}
    for metric in compared_metrics():
        assert better_of(metric) is not Better.NEITHER
        assert metric in {spec.name for spec in declared | set(EVERY_TRIAL)}
