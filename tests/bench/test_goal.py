"""The ratio that a goal prints, and its interval."""

from __future__ import annotations

import numpy as np
import pytest
from bench.goal import Samples

STUDIES = 200
ROUNDS = 30


def test_a_drift_that_both_see_cancels() -> None:
    drift = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    samples = Samples([3 * each for each in drift], drift)
    assert samples.ratio == pytest.approx(3)
    assert samples.interval == pytest.approx((3, 3))


def test_one_wild_round_of_four_changes_nothing() -> None:
    assert Samples([2.0, 2.0, 2.0, 500.0], [1.0] * 4).ratio == pytest.approx(2)


def test_without_a_peer_there_is_no_ratio() -> None:
    assert (Samples([1.0]).ratio, Samples([1.0]).interval) == (None, None)


def test_nothing_is_a_ratio_of_zero() -> None:
    assert Samples([0.0] * 4, [1.0] * 4).ratio == 0


def test_the_interval_covers_the_true_ratio() -> None:
    random = np.random.default_rng(5)
    covered = 0
    for _ in range(STUDIES):
        weather = random.lognormal(0, 0.3, ROUNDS)
        ours, peer = 1.1 * weather * random.lognormal(0, 0.1, (2, ROUNDS))
        low, high = Samples(list(ours), list(peer / 1.1)).interval or (0.0, 0.0)
        covered += low <= 1.1 <= high
    assert 0.90 <= covered / STUDIES <= 0.98
