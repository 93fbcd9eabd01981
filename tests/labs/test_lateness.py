"""How many packets of a wire may be late: the rule's error rates, simulated. Pure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.labs.link.wire.counts import LEVEL, MANY, most_late

DRAWS = 100_000


def blamed(delivered: int, share: float) -> float:
    """How often the rule blames a link on which each packet is late with probability ``share``."""
    late = np.random.default_rng(delivered).binomial(delivered, share, DRAWS)
    return float(np.mean(late > most_late(delivered)))


@pytest.mark.parametrize("delivered", [2, 5, 20, 35, 36, 50, 99, 100, 199, 330, 500])
def test_of_few_packets_a_link_within_the_limit_is_blamed_seldom(delivered: int) -> None:
    error = 3 * (LEVEL * (1 - LEVEL) / DRAWS) ** 0.5
    assert blamed(delivered, 0.01) <= 1 - LEVEL + error
    assert blamed(delivered, 0.001) <= 0.002


@pytest.mark.parametrize(
    ("delivered", "share", "least"), [(20, 0.2, 0.9), (50, 0.1, 0.85), (200, 0.05, 0.9)]
)
def test_a_link_that_is_late_is_found_among_few_packets(
    delivered: int, share: float, least: float
) -> None:
    assert blamed(delivered, share) >= least


@given(st.integers(MANY, 10**7))
def test_of_many_packets_one_in_a_hundred_may_be_late(delivered: int) -> None:
    assert most_late(delivered) == delivered // 100


@given(st.integers(0, 2 * MANY))
def test_more_packets_never_permit_fewer_late_ones(delivered: int) -> None:
    assert 1 <= most_late(delivered) <= most_late(delivered + 1)


@given(st.integers(2, 10**7))
def test_packets_that_are_all_late_are_too_many(delivered: int) -> None:
    assert most_late(delivered) < delivered
