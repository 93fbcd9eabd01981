from __future__ import annotations

import numpy as np
import pytest

from culvert.analysis.statistics.power import repetitions_needed


def test_what_is_decided_needs_nothing_and_equals_need_more_than_anybody_has() -> None:
    a = np.random.default_rng(21).normal(0, 1, 20)
    assert repetitions_needed(a + 5, a) == 0
    assert repetitions_needed(a, a) is None
    assert repetitions_needed(a + 5, a, bound=5.0) is None
    assert repetitions_needed([1.0], a) is None
    assert repetitions_needed([2.0] * 5, [1.0] * 5) == 0
    assert repetitions_needed([1.0] * 5, [1.0] * 5) is None


def test_so_many_do_decide_with_about_the_power_asked() -> None:
    rng = np.random.default_rng(22)
    # Exactly half a deviation apart and exactly 1 wide, so that the answer is that of theory.
    base = rng.normal(size=30)
    base = (base - base.mean()) / base.std(ddof=1)
    rng.shuffle(base)
    more = repetitions_needed(base + 0.5, base)
    assert more is not None
    assert 30 + more == pytest.approx(64, abs=25)  # 64 is the textbook's for independent values
    hits = 0
    for _ in range(300):
        a, b = rng.normal(0.5, 1, 30 + more), rng.normal(0, 1, 30 + more)
        error = np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
        hits += abs(a.mean() - b.mean()) / error > 1.98
    assert hits / 300 >= 0.72


def test_less_effect_needs_more() -> None:
    rng = np.random.default_rng(23)
    a, b = rng.normal(0, 1, 12), rng.normal(0, 1, 12)
    near, far = (repetitions_needed(a + move - a.mean(), b - b.mean()) for move in (0.3, 0.6))
    assert near is not None
    assert far is not None
    assert near > far
