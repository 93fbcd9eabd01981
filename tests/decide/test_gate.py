"""The gate: its error rate over all looks, its power, and input that nothing can be said of."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from culvert.decide.gate import Figure, Look, Outcome, gate
from culvert.metrics import Better

Array = NDArray[np.float64]
LOOKS = (8, 16, 24)
TIMES = 600
NONE = np.array([])


def luck(rate: float) -> float:
    """Three standard deviations of a rate seen so many times."""
    return 3 * sqrt(rate * (1 - rate) / TIMES)


def simulated(
    rng: np.random.Generator, slow: float, shared: float = 0.73, scatter: float = 0.044
) -> Figure:
    """24 blocks; CPU seconds per gigabyte, and the probe's, which correlate by ``shared``."""
    machine = scatter * rng.standard_normal((2, 24))
    own = scatter * rng.standard_normal((2, 24))
    vpn = shared * machine + sqrt(1 - shared**2) * own + 0.1 * rng.standard_normal(24)
    vpn[1] += log(1 + slow)
    return Figure("cpu_vpn_s_per_gb", Better.LESS, *np.exp(vpn), *np.exp(machine))


def until(figure: Figure, looks: tuple[int, ...] = LOOKS) -> tuple[Outcome, int]:
    """The outcome of the look that ends the run."""
    for number, n in enumerate(looks):
        (first,) = gate([cut(figure, n)], Look(looks, number))
        if first.ends:
            break
    return first.outcome, n


def cut(figure: Figure, n: int) -> Figure:
    """The first n blocks."""
    series = (figure.base, figure.head, figure.base_covariate, figure.head_covariate)
    return Figure(figure.name, figure.better, *(one[:n] for one in series))


@pytest.mark.parametrize("shared", [0.0, 0.73])
def test_an_equal_head_is_seldom_slower_at_any_look(shared: float) -> None:
    rng = np.random.default_rng(1)
    alarms = sum(until(simulated(rng, 0.0, shared))[0] is Outcome.SLOWER for _ in range(TIMES))
    assert alarms / TIMES <= 0.05 + luck(0.05)


def test_a_slower_head_is_found_and_a_much_slower_one_early() -> None:
    rng = np.random.default_rng(2)
    five = [until(simulated(rng, 0.05)) for _ in range(TIMES)]
    assert sum(one is Outcome.SLOWER for one, _ in five) / TIMES >= 0.9
    ten = [until(simulated(rng, 0.10)) for _ in range(TIMES)]
    assert sum(one is Outcome.SLOWER and n == 8 for one, n in ten) / TIMES >= 0.9


def test_the_covariate_is_worth_blocks() -> None:
    rng = np.random.default_rng(3)
    bounds = []
    for _ in range(100):
        figure = simulated(rng, 0.0)
        alone = Figure(figure.name, figure.better, figure.base, figure.head, NONE, NONE)
        with_it, without = (gate([one])[0].least for one in (figure, alone))
        assert with_it is not None
        assert without is not None
        bounds.append(log(with_it) / log(without))
    assert np.median(bounds) <= 0.8


def test_the_bound_covers_the_slowdown() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(TIMES):
        (first,) = gate([simulated(rng, 0.04)])
        assert first.bound is not None
        covered += first.bound >= 1.04
    assert covered / TIMES >= 0.95 - luck(0.95)


def test_other_figures_follow_only_after_the_first_is_slower() -> None:
    rng = np.random.default_rng(5)
    equal, slower = simulated(rng, 0.0), simulated(rng, 0.3)
    assert [one.outcome for one in gate([equal, slower])] == [
        Outcome.NOT_SLOWER,
        Outcome.NOT_TESTED,
    ]
    assert [one.outcome for one in gate([slower, slower, equal])] == [
        Outcome.SLOWER,
        Outcome.SLOWER,
        Outcome.NOT_SLOWER,
    ]


def test_a_margin_is_accepted() -> None:
    rng = np.random.default_rng(6)
    figure = simulated(rng, 0.10, scatter=0.01)
    assert gate([figure])[0].outcome is Outcome.SLOWER
    assert gate([figure], margin=0.15)[0].outcome is Outcome.NOT_SLOWER
    more = Figure("goodput_bps", Better.MORE, figure.base, figure.head, NONE, NONE)
    assert gate([more])[0].outcome is Outcome.NOT_SLOWER


def test_input_that_nothing_can_be_said_of() -> None:
    ones, none = np.ones(24), np.full(24, np.nan)
    outcomes = [
        gate([Figure("x", Better.LESS, base, head, NONE, NONE)])[0].outcome
        for base, head in ((ones, none), (none, ones), (ones[:3], ones[:3]), (ones, ones))
    ]
    assert outcomes == [Outcome.BROKEN, Outcome.NO_BASE, Outcome.TOO_FEW, Outcome.NOT_SLOWER]
    slower = Figure("x", Better.LESS, ones, 2 * ones, ones, ones)
    assert gate([slower])[0].outcome is Outcome.SLOWER


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_holes_and_zeros_are_no_exception(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    series = rng.choice([0.0, np.nan, 1.0, 1.1, 2.0], (4, n), p=[0.05, 0.1, 0.35, 0.3, 0.2])
    (first,) = gate([Figure("x", Better.LESS, *series)])
    assert first.n <= n
    assert (first.bound is None) == (first.slowdown is None)
    if first.slowdown is not None and first.bound is not None:
        assert first.slowdown <= first.bound * (1 + 1e-9)
