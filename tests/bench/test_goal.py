"""The ratio that a goal prints, and its interval."""

from __future__ import annotations

import time

import numpy as np
import pytest
from bench.goal import Samples, alternate

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


def test_rounds_with_stolen_time_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    stolen_s = 0.0

    def measured() -> float:
        nonlocal stolen_s
        number = len(seen)
        seen.append(number)
        time.sleep(0.001)
        stolen_s += 10.0 if number // 2 in (1, 2) else 0.0
        return float(number // 2)

    seen: list[int] = []
    monkeypatch.setattr("bench.goal.stolen_s", lambda: stolen_s)
    monkeypatch.setattr("bench.goal.RECOVERY_S", 0)
    samples = alternate(measured, measured, 4, spare=3)
    assert samples.ours == samples.peer == [0.0, 3.0, 4.0, 5.0]


def test_without_spare_rounds_all_count() -> None:
    values = iter(range(6))
    samples = alternate(lambda: float(next(values)), lambda: float(next(values)), 3)
    assert sorted(samples.ours + samples.peer) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert samples.ours[0] < samples.peer[0]
    assert samples.ours[1] > samples.peer[1]


def test_where_all_rounds_are_disturbed_the_calmest_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.goal.RECOVERY_S", 0)
    stolen = iter([0.0, 30.0, 30.0, 40.0, 40.0, 90.0])
    monkeypatch.setattr("bench.goal.stolen_s", lambda: next(stolen))
    values = iter([1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    clock = iter([0.0, 10.0] * 3)
    monkeypatch.setattr("bench.goal.time.monotonic", lambda: next(clock))
    samples = alternate(lambda: next(values), lambda: next(values), 2, spare=1)
    assert samples.ours == [1.0, 2.0]
