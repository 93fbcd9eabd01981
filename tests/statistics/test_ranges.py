"""P values of studentised ranges, and closed tests of all pairs by them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import studentized_range

from culvert.statistics.ranges import closed, level_of_pair, range_p_values
from culvert.statistics.values import Array


@pytest.mark.parametrize("df", [4.0, 11.5, 44.0, 1e3])
def test_ranges_have_the_p_values_of_scipy(df: float) -> None:
    t = np.array([0.0, 0.3, 1.0, 2.0, 3.0, 4.5])
    found = range_p_values(t, np.full(t.size, df), 8)
    assert found.shape == (6, t.size)
    for s in (3, 5, 8):
        wanted = studentized_range.sf(t * np.sqrt(2), s, df)
        assert found[s - 3] == pytest.approx(wanted, rel=1e-5)


def test_far_differences_keep_their_order() -> None:
    found = range_p_values(np.array([6.0, 12.0, 30.0]), np.array([4.0, 4.0, 4.0]), 3)[0]
    assert 0 < found[2] < found[1] < found[0] < 0.02


def ranges(t: Array, df: float) -> Array:
    """As ``closed`` takes them, of a symmetric table of t statistics."""
    k = t.shape[0]
    flat = range_p_values(t.ravel(), np.full(t.size, df), k).reshape(k - 2, k, k)
    alone = 2 * ndtr(-t)[None]
    return np.concatenate([alone, np.maximum(alone, flat)])


def enumerated(p_values: Array) -> Array:
    """Closed tests by all sets."""
    k = p_values.shape[1]
    found = np.zeros((k, k))
    for s in range(2, k + 1):
        for members in combinations(range(k), s):
            pairs = list(combinations(members, 2))
            p = min(p_values[s - 2, a, b] for a, b in pairs)
            if s < k - 1:
                p = 1 - (1 - p) ** (k / s)
            for a, b in pairs:
                found[a, b] = found[b, a] = max(found[a, b], p)
    return found


@pytest.mark.parametrize("k", [2, 3, 4, 5, 7])
def test_with_equal_errors_no_set_has_to_be_enumerated(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(30):
        means = 2 * rng.standard_normal(k)
        given = ranges(np.abs(means[:, None] - means), 1e5)
        assert closed(given) == pytest.approx(enumerated(given), rel=1e-9)


def test_with_unequal_errors_p_values_are_never_too_small() -> None:
    rng = np.random.default_rng(9)
    same = total = 0
    for _ in range(60):
        means, scale = 2 * rng.standard_normal(6), rng.uniform(0.5, 2, 6)
        errors = np.sqrt((scale[:, None] ** 2 + scale**2) / 2)
        given = ranges(np.abs(means[:, None] - means) / errors, 1e5)
        found, wanted = closed(given), enumerated(given)
        assert (found >= wanted - 1e-9).all()
        same += int(np.isclose(found, wanted).sum())
        total += found.size
    assert same / total > 0.99


def test_what_was_not_tested_and_what_is_no_pair() -> None:
    """Of a, b, c, d: c and d were never together; then: no pair between a, b and c, d."""
    p = np.full((3, 4, 4), 0.01)
    p[:, 2, 3] = p[:, 3, 2] = 1.0
    found = closed(p)
    assert found[2, 3] == 1.0
    assert found[0, 1] == pytest.approx(1 - 0.99**2)
    p = np.zeros((3, 4, 4))
    p[0, 0, 1] = p[0, 1, 0] = p[1:, 0, 1] = p[1:, 1, 0] = 0.02
    assert closed(p)[0, 1] == pytest.approx(1 - 0.98**2)


def test_a_pair_of_many_has_a_level_of_its_own() -> None:
    assert level_of_pair(0.05, 2) == 0.05
    t = studentized_range.ppf(0.95, 5, 1e5) / np.sqrt(2)
    assert level_of_pair(0.05, 5) == pytest.approx(2 * ndtr(-t), rel=1e-4)
