"""A goal of several rounds names the rounds that fail it."""

from bench.goal import Samples
from bench.goals.wire_rate import WireRate


def test_the_round_beyond_the_bound_is_named() -> None:
    samples = Samples([0.27, 0.27, 0.1, 0.62, 0.3, 0.5])
    assert not WireRate().met(samples)
    assert WireRate().failed(samples) == ["rate-1g, round 2: 0.620 %"]


def test_rounds_within_it_are_not() -> None:
    samples = Samples([0.27, 0.27, 0.1, 0.5, 0.3, 0.5])
    assert WireRate().met(samples)
    assert WireRate().failed(samples) == []
