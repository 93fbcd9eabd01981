from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.statistics.intervals import Note
from culvert.statistics.ratio import ratio_of_medians

from .noise import correlated

positive = st.lists(st.floats(1, 1e6), min_size=6, max_size=15, unique=True)


@settings(max_examples=30, deadline=None)
@given(positive, positive, st.floats(1e-3, 1e3))
def test_the_interval_holds_the_ratio_and_follows_a_factor(
    a: list[float], b: list[float], factor: float
) -> None:
    found = ratio_of_medians(a, b)
    assert found.low is not None
    assert found.high is not None
    # The middle of logarithms of an even number of values is not the logarithm of the middle.
    ratio = float(np.exp(np.median(np.log(a)) - np.median(np.log(b))))
    assert found.low <= ratio * (1 + 1e-9)
    assert found.high >= ratio * (1 - 1e-9)
    scaled = ratio_of_medians([value * factor for value in a], b)
    assert scaled.low == pytest.approx(found.low * factor, rel=1e-6)


def test_values_of_every_size_have_a_finite_interval() -> None:
    values = [1e-300] * 4 + [1e18] * 4
    found = ratio_of_medians(values, values)
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < 1 < found.high < math.inf


def test_without_an_interval_it_is_said_why() -> None:
    good = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert ratio_of_medians(good[:5], good).note is Note.TOO_FEW
    assert ratio_of_medians(good, [*good, 0.0]).note is Note.NOT_POSITIVE
    assert ratio_of_medians([1.0] * 6, [2.0] * 6).note is Note.CONSTANT


@pytest.mark.parametrize(
    ("phi", "n", "most"), [(0.0, 10, 0.07), (0.0, 50, 0.08), (0.6, 20, 0.11), (0.8, 100, 0.09)]
)
def test_equals_are_seldom_told_apart_even_when_correlated(phi: float, n: int, most: float) -> None:
    a, b = (np.exp(0.02 * correlated(phi, n, 250, seed=seed)) for seed in (16, 17))
    alarms = [ratio_of_medians(x, y).excludes(1) for x, y in zip(a, b, strict=True)]
    assert np.mean(alarms) <= most


def test_five_per_cent_are_found() -> None:
    a, b = (np.exp(0.02 * correlated(0.3, 30, 100, seed=seed)) for seed in (18, 19))
    hits = [ratio_of_medians(1.05 * x, y).excludes(1) for x, y in zip(a, b, strict=True)]
    assert np.mean(hits) >= 0.95
