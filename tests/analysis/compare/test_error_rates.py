"""The rates that docs/compare.md states, simulated."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from culvert.analysis.compare.comparison import comparisons_of_runs
from culvert.analysis.compare.verdict import Change, Tolerance
from culvert.analysis.observations import observations
from culvert.decide.contrast import paired_contrast, run_contrast, unpaired_contrast
from culvert.metrics import Better
from culvert.statistics.looks import levels
from tests.analysis.frames import rows
from tests.analysis.series import correlated

from .single import judge_single

ALPHA = 0.05
TIMES = 1000
LUCK = 3 * sqrt(ALPHA * (1 - ALPHA) / TIMES)
"""Three standard deviations of a rate seen in a thousand comparisons."""


def _changes(
    n: int, rho: float, *, sd: float, faster: float, tolerance: float, seed: int
) -> dict[Change, float]:
    """How often each word comes of two runs of n trials whose logarithms scatter by sd."""
    rng = np.random.default_rng(seed)
    a, b = (sd * correlated(rng, TIMES, n, rho) for _ in range(2))
    found = []
    for before, after in zip(a, b + np.log(faster), strict=True):
        contrast = unpaired_contrast(before, after)
        assert contrast is not None
        ends = Tolerance.of_ratio(tolerance)
        told = judge_single(contrast, ends, Better.MORE, ALPHA)
        found.append(told.change)
    return {change: found.count(change) / TIMES for change in Change}


@pytest.mark.parametrize("n", [5, 10, 20, 50])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6])
def test_equal_runs_are_seldom_called_different(n: int, rho: float) -> None:
    # Without a tolerance, which would hide false alarms.
    seen = _changes(n, rho, sd=0.05, faster=1.0, tolerance=0.0, seed=n)
    assert seen[Change.FASTER] + seen[Change.SLOWER] <= ALPHA + LUCK


@pytest.mark.parametrize(
    ("n", "rho", "stated"), [(10, 0.0, 0.85), (20, 0.0, 0.99), (20, 0.6, 0.80), (30, 0.6, 0.92)]
)
def test_five_per_cent_are_found(n: int, rho: float, stated: float) -> None:
    seen = _changes(n, rho, sd=0.02, faster=0.95, tolerance=0.03, seed=n)
    assert seen[Change.SLOWER] + seen[Change.DIFFERS] >= stated
    assert seen[Change.FASTER] == 0


@pytest.mark.parametrize("n", [10, 20, 50])
def test_a_difference_below_the_tolerance_is_seldom_called_slower(n: int) -> None:
    """A true 2.9 %, of which the estimate is as often beyond 3 % as not."""
    seen = _changes(n, 0.0, sd=0.02, faster=0.971, tolerance=0.03, seed=n)
    assert seen[Change.SLOWER] <= ALPHA + LUCK


def test_beyond_the_tolerance_it_is_found() -> None:
    assert _changes(20, 0.0, sd=0.02, faster=0.93, tolerance=0.03, seed=3)[Change.SLOWER] >= 0.95


def test_same_is_corrected_for_the_number_of_cells() -> None:
    """Cells that all differ by exactly the tolerance."""
    rng = np.random.default_rng(10)
    times, cells = 200, 8
    wrong = 0
    for noise in 0.01 * rng.standard_normal((times, 2, cells, 12)):
        figures = 100 * np.exp(noise)
        figures[1] *= 0.97
        a, b = (
            observations(rows({f"v{i}": list(one) for i, one in enumerate(side)}))
            for side in figures
        )
        wrong += any(one.change is Change.SAME for one in comparisons_of_runs([a], [b]))
    assert wrong / times <= ALPHA + 3 * sqrt(ALPHA * (1 - ALPHA) / times)


def test_runs_that_deviate_raise_no_more_alarms_where_runs_repeat_a_side() -> None:
    """Runs of the same deviate by 2 %, their trials by 2 % more; three runs a side."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(TIMES):
        runs = 0.02 * rng.standard_normal((6, 1)) + 0.02 * rng.standard_normal((6, 10))
        contrast = run_contrast(list(runs[:3]), list(runs[3:]))
        assert contrast is not None
        alarms += contrast.p_two_sided() <= ALPHA
    assert alarms / TIMES <= ALPHA + LUCK


def _drifting_differences(rng: np.random.Generator, blocks: int) -> NDArray[np.float64]:
    """Of two cells of four, block by block in random order, while the machine drifts: its
    correlation from trial to trial is 0.99."""
    drift = correlated(rng, 1, 4 * blocks, 0.99)[0]
    places = np.array([rng.permutation(4)[:2] for _ in range(blocks)])
    found = drift[4 * np.arange(blocks)[:, None] + places]
    return np.asarray(found[:, 0] - found[:, 1]) + 0.1 * rng.standard_normal(blocks)


@pytest.mark.parametrize("n", [5, 10, 20])
def test_drift_raises_no_alarms_in_blocks_of_random_order(n: int) -> None:
    rng = np.random.default_rng(n)
    contrasts = [paired_contrast(_drifting_differences(rng, n)) for _ in range(TIMES)]
    alarms = sum(one is not None and one.p_two_sided() <= ALPHA for one in contrasts)
    assert alarms / TIMES <= ALPHA + LUCK


def test_five_per_cent_are_found_in_few_blocks() -> None:
    """At 3 % of each, looking after every block from 5 to 20: as a paired t test does."""
    rng = np.random.default_rng(12)
    found, blocks = 0, 0
    for _ in range(300):
        differences = 0.03 * np.diff(rng.standard_normal((20, 2)))[:, 0] + np.log(1.05)
        for n in range(5, 21):
            contrast = paired_contrast(differences[:n])
            assert contrast is not None
            if contrast.p_two_sided() <= levels(5, 20, ALPHA)[n - 5]:
                found += 1
                break
        blocks += n
    assert found / 300 >= 0.95
    assert blocks / 300 <= 11


def test_a_difference_as_large_as_the_tolerance_is_seldom_called_same() -> None:
    seen = _changes(20, 0.6, sd=0.02, faster=0.97, tolerance=0.03, seed=1)
    assert seen[Change.SAME] <= ALPHA + LUCK


def test_equal_runs_are_called_same_where_they_scatter_little() -> None:
    assert _changes(20, 0.0, sd=0.01, faster=1.0, tolerance=0.03, seed=2)[Change.SAME] >= 0.99


@pytest.mark.parametrize("n", [5, 10, 20, 50])
@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_paired_series_keep_it_too(n: int, rho: float) -> None:
    differences = correlated(np.random.default_rng(n), TIMES, n, rho)
    contrasts = [paired_contrast(one, cautious=True) for one in differences]
    alarms = sum(one is not None and one.p_two_sided() <= ALPHA for one in contrasts)
    assert alarms / TIMES <= ALPHA + LUCK


def test_the_interval_holds_the_truth() -> None:
    a, b = (correlated(np.random.default_rng(s), TIMES, 15, 0.5) for s in (3, 4))
    held = 0
    for before, after in zip(a, b + 1.0, strict=True):
        contrast = unpaired_contrast(before, after)
        assert contrast is not None
        low, high = contrast.interval()
        held += low <= 1.0 <= high
    assert held / TIMES >= 1 - ALPHA - LUCK


def test_a_whole_comparison_raises_no_more_alarms_than_one() -> None:
    rng = np.random.default_rng(9)
    times, cells = 200, 8
    noise = 0.05 * correlated(rng, 2 * times * cells, 12, 0.6).reshape(times, 2, cells, 12)
    alarms = 0
    for before, after in 100 * np.exp(noise):
        a, b = (
            observations(rows({f"v{i}": list(one) for i, one in enumerate(side)}))
            for side in (before, after)
        )
        found = comparisons_of_runs([a], [b], tolerance=0.0)
        alarms += any(one.change in (Change.FASTER, Change.SLOWER) for one in found)
    assert alarms / times <= ALPHA + 3 * sqrt(ALPHA * (1 - ALPHA) / times)
