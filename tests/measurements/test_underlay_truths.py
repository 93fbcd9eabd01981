"""What conditions fix of the figures of a link."""

from __future__ import annotations

import pytest

from culvert.measurements.underlay.truths import way_truths
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth
from culvert.topology import shapes
from culvert.topology.link.impairment import Bursts, Codel, Impairment, OneWay
from culvert.topology.link.jitter import Jitter
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec

RATE_BPS = 20_000_000
FRAMES = RATE_BPS / 2 / (8 * 1414)
"""A second of frames of 1,414 bytes, at half of the rate."""
DELAY_NS = 20_000_000


def truths(way: OneWay, *, bare: bool = True) -> dict[str, Truth]:
    """Of the direction from a to b, whose other direction has no impairment; not bounds alone."""
    link = LinkSpec("wire", RATE_BPS, 1400, impairment=Impairment(way, OneWay()))
    spec = LabSpec(topology=shapes.pair(), link=link)
    path = spec.topology.paths[0]
    found = way_truths(KnownPath(spec, path, spec.path_link(path), bare), 1.0)
    there = [one for one in found if one.labels == {"direction": "a to b"}]
    return {one.metric: one for one in there if one.value is not None}


def within(truth: Truth, *values: float) -> list[bool]:
    return [truth.least <= value <= truth.most for value in values]


def test_a_plain_link_has_a_rate_a_delay_and_nothing_lost_repeated_or_overtaken() -> None:
    found = truths(OneWay(delay_ns=DELAY_NS))
    assert within(found["delivered_rate_bps"], 19.5e6, 19.7e6, 20.1e6) == [False, True, False]
    assert within(found["delivered_delay_ms"], 20.5, 20.6, 21.1) == [False, True, False]
    for name in ("delivered_loss_ratio", "duplicate_packets", "reordered_packets"):
        assert within(found[name], 0, 1) == [True, False]


@pytest.mark.parametrize("loss", [0.02, Bursts(0.02, 0.98)])
def test_loss_is_within_its_binomial_interval(loss: float | Bursts) -> None:
    truth = truths(OneWay(loss=loss))["delivered_loss_ratio"]
    assert truth.value == pytest.approx(0.02, rel=0.01)
    assert within(truth, 0.0005, 0.02, 0.042) == [False, True, False]


def test_repeated_packets_are_within_their_binomial_interval() -> None:
    truth = truths(OneWay(duplicate=0.05))["duplicate_packets"]
    assert truth.value == pytest.approx(0.05 * FRAMES)
    assert within(truth, 10, 44, 80) == [False, True, False]


def test_who_skips_the_delay_overtakes_all_that_fly() -> None:
    truth = truths(OneWay(delay_ns=DELAY_NS, reorder=0.1))["reordered_packets"]
    flying = 0.02 * FRAMES
    assert truth.value == pytest.approx(0.9 * (1 - 0.9**flying) * FRAMES, rel=0.01)
    assert within(truth, 88, 670) == [False, True]


def test_jitter_that_lets_packets_overtake_moves_no_median() -> None:
    jitter = Jitter(5_000_000, reorders=True)
    found = truths(OneWay(delay_ns=DELAY_NS, jitter=jitter))
    assert within(found["delivered_delay_ms"], 19, 20.57, 22.5) == [False, True, False]
    assert "reordered_packets" not in found  # that depends on the values of jitter


def test_what_time_or_a_vpn_decides_has_no_truth() -> None:
    assert not truths(OneWay(loss=(1, 2)))
    assert not truths(OneWay(codel=Codel()))
    assert not truths(OneWay(), bare=False)
