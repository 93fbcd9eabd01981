"""The error rates of the gate that docs/ci.md states, in small."""

from __future__ import annotations

import pytest

from tests.versions.gate import rates

TIMES = 60


def test_the_gate_passes_an_equal_head() -> None:
    # With a true rate of 5 % more than 8 of 60 have a probability below 1 %.
    assert rates(TIMES, 20, 0.02, 0.0)[0] <= 8 / TIMES


@pytest.mark.parametrize(("slow", "scatter", "stated"), [(0.05, 0.01, 0.9), (0.1, 0.02, 0.95)])
def test_the_gate_finds_what_is_slower(slow: float, scatter: float, stated: float) -> None:
    assert rates(TIMES, 20, scatter, slow)[0] >= stated


def test_a_fixed_threshold_raises_false_alarms() -> None:
    _, fixed = rates(TIMES, 20, 0.02, 0.0, (0.03,))
    assert fixed > 0.1
