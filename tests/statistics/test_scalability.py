"""The Universal Scalability Law finds the parameters of simulated gateways, and stops there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from culvert.statistics.scalability import Scalability, fit_scalability

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
GAIN, CONTENTION, COHERENCY = 100e6, 0.05, 0.0004
KNEE = math.sqrt((1 - CONTENTION) / COHERENCY)
SCATTER = 0.03
RUNS = 40


def law(n: float) -> float:
    return GAIN * n / (1 + CONTENTION * (n - 1) + COHERENCY * n * (n - 1))


def simulated(seed: int, blocks: int = 8) -> Scalability:
    generator = np.random.default_rng(seed)
    trials = {n: list(law(n) * np.exp(generator.normal(0, SCATTER, blocks))) for n in COUNTS}
    return fit_scalability(trials, seed=seed)


@pytest.fixture(scope="module")
def runs() -> list[Scalability]:
    return [simulated(seed) for seed in range(RUNS)]


def test_the_knee_is_found_within_a_tenth(runs: list[Scalability]) -> None:
    errors = [abs(one.knee.value / KNEE - 1) for one in runs]
    assert float(np.median(errors)) < 0.05
    assert sum(error < 0.1 for error in errors) >= 0.9 * RUNS


def test_intervals_cover_the_true_values(runs: list[Scalability]) -> None:
    # Of 40 runs with 95 % fewer than 34 are covered with a probability below 0.001.
    covered = {
        "gain": sum(one.gain.low <= GAIN <= one.gain.high for one in runs),
        "contention": sum(one.contention.low <= CONTENTION <= one.contention.high for one in runs),
        "coherency": sum(one.coherency.low <= COHERENCY <= one.coherency.high for one in runs),
        "knee": sum(one.knee.low <= KNEE <= one.knee.high for one in runs),
        "beyond": sum(one.at(200).low <= law(200) <= one.at(200).high for one in runs),
    }
    assert min(covered.values()) >= 34, covered


def test_it_says_nothing_beyond_twice_the_largest_measured_number() -> None:
    fitted = simulated(1)
    assert fitted.at(256).value == pytest.approx(law(256), rel=0.2)
    with pytest.raises(ValueError, match="not trusted beyond 256"):
        fitted.at(257)


def test_a_plateau_has_no_knee() -> None:
    trials = {n: [1e8 * n / (1 + 0.2 * (n - 1)) * f for f in (0.99, 1, 1.01)] for n in COUNTS}
    fitted = fit_scalability(trials)
    assert fitted.contention.value == pytest.approx(0.2, rel=0.05)
    assert fitted.knee.high > 1000


@pytest.mark.parametrize(
    "trials",
    [
        {1: [1.0, 1.0, 1.0], 2: [2.0, 2.0, 2.0], 4: [3.0, 3.0, 3.0]},
        {1: [1.0], 2: [2.0], 4: [3.0], 8: [4.0]},
        {1: [1.0, 1, 1], 2: [2.0, 2, 2], 4: [0.0, 3, 3], 8: [4.0, 4, 4]},
    ],
)
def test_too_few_or_dead_trials_are_refused(trials: dict[int, list[float]]) -> None:
    with pytest.raises(ValueError, match=r"an estimate needs|carried nothing"):
        fit_scalability(trials)


def test_what_only_falls_is_highest_with_one_client() -> None:
    law = {n: 100 * n / (1 + 1.5 * (n - 1)) for n in (1, 2, 4, 8)}
    found = fit_scalability({n: [x, 1.01 * x, 0.99 * x] for n, x in law.items()})
    assert found.contention.value > 1
    assert (found.knee.value, found.knee.low) == (1.0, 1.0)
