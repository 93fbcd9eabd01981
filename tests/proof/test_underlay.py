from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.proof.underlay import (
    Delivered,
    delay_bounds_ns,
    judge_direction,
    loss_interval,
    requested_loss,
)
from culvert.topology.link.impairment import Blackout, Bursts, OneWay
from culvert.topology.link.jitter import Jitter, JitterShape


def delivered(**changes: object) -> Delivered:
    base: dict[str, object] = {
        "sent": 5000,
        "lost": 50,
        "duplicates": 0,
        "reordered": 0,
        "delay_min_ns": 5_000_000,
        "delay_p50_ns": 5_200_000,
    }
    return Delivered(**{**base, **changes})  # type: ignore[arg-type]


def failures(one_way: OneWay, found: Delivered, rate_bps: int | None = None) -> list[str]:
    checks = judge_direction("a to b", one_way, found, rate_bps=rate_bps)
    return [check.name.removesuffix(", a to b") for check in checks if not check.passed]


ASKED = OneWay(loss=0.01, delay_ns=5_000_000)


def test_what_was_asked_agrees() -> None:
    assert failures(ASKED, delivered()) == []


def test_each_disagreement_is_named() -> None:
    assert failures(ASKED, delivered(lost=0)) == ["the underlay has the requested loss"]
    assert failures(ASKED, delivered(lost=500)) == ["the underlay has the requested loss"]
    assert failures(ASKED, delivered(delay_p50_ns=4_000_000)) == [
        "the underlay has the requested delay"
    ]
    assert failures(ASKED, delivered(delay_p50_ns=9_000_000)) == [
        "the underlay has the requested delay"
    ]
    assert failures(ASKED, delivered(delay_p50_ns=None)) == ["the underlay has the requested delay"]
    assert failures(ASKED, delivered(reordered=1)) == ["no packet is reordered"]
    assert failures(ASKED, delivered(duplicates=1)) == ["no packet is duplicated"]


def test_packets_that_a_late_sender_made_wait_for_each_other_are_not_the_links_delay() -> None:
    asked = replace(ASKED, rate_bps=20_000_000)
    queued = delivered(delay_min_ns=5_700_000, delay_p50_ns=9_000_000)
    wrong = ["the underlay has the requested delay"]
    assert failures(asked, queued, 20_000_000) == wrong
    assert failures(asked, replace(queued, bursty=True), 20_000_000) == []
    slow = replace(queued, bursty=True, delay_min_ns=8_000_000)
    assert failures(asked, slow, 20_000_000) == wrong
    fast = replace(queued, bursty=True, delay_min_ns=4_000_000)
    assert failures(asked, fast, 20_000_000) == wrong


def test_the_rate_counts_what_was_lost_behind_it() -> None:
    rate = 100_000_000
    assert failures(ASKED, delivered(rate_bps=0.99 * rate), rate) == []
    assert failures(ASKED, delivered(rate_bps=0.9 * rate), rate) == [
        "the underlay has the requested rate"
    ]
    assert failures(ASKED, delivered(rate_bps=1.1 * rate), rate) == [
        "the underlay has the requested rate"
    ]


def test_a_generator_that_is_too_slow_says_nothing_against_the_link() -> None:
    rate = 100_000_000
    slow = delivered(rate_bps=0.79 * rate, offered_bps=0.8 * rate)
    assert failures(ASKED, slow, rate) == []
    assert failures(ASKED, replace(slow, rate_bps=0.7 * rate), rate) == [
        "the underlay has the requested rate"
    ]


def test_reordering_that_was_asked_for_is_no_fault() -> None:
    jitter = Jitter(1_000_000, reorders=True)
    asked = OneWay(loss=0.01, delay_ns=5_000_000, jitter=jitter)
    assert failures(asked, delivered(reordered=100)) == []


@given(st.floats(0, 1), st.integers(1, 10**6))
def test_the_interval_holds_what_was_asked_and_stays_a_share(share: float, packets: int) -> None:
    low, high = loss_interval(OneWay(loss=share), packets)
    assert 0 <= low <= share <= high <= 1


@given(st.integers(100, 10**5))
def test_no_loss_asked_means_none(packets: int) -> None:
    assert loss_interval(OneWay(), packets) == (0.0, 0.0)


@given(st.floats(0.001, 0.5), st.floats(0.001, 0.5))
def test_bursts_make_the_interval_wider(to_bad: float, to_good: float) -> None:
    bursts = OneWay(loss=Bursts(to_bad, to_good))
    share = requested_loss(bursts)
    assert share is not None
    of_bursts, of_single = loss_interval(bursts, 5000), loss_interval(OneWay(loss=share), 5000)
    assert of_bursts[0] <= of_single[0] + 1e-12
    assert of_bursts[1] >= of_single[1] - 1e-12


@given(st.integers(0, 10**9), st.integers(0, 10**8))
def test_a_median_delay_may_not_be_below_what_was_asked(delay_ns: int, more_ns: int) -> None:
    low, high = delay_bounds_ns(OneWay(delay_ns=delay_ns), more_ns, 100, 1.0)
    assert low <= delay_ns <= delay_ns + more_ns <= high
    assert delay_ns - low <= 1001 + delay_ns / 1000


@pytest.mark.parametrize("packets", [10, 100, 5000])
@pytest.mark.parametrize(
    "distribution", [JitterShape.UNIFORM, JitterShape.NORMAL, JitterShape.PARETO]
)
def test_the_median_of_jitter_lies_where_it_is_looked_for(
    packets: int, distribution: JitterShape
) -> None:
    spread_ns, delay_ns, times = 1_000_000, 50_000_000, 2_000
    random, size = np.random.default_rng(1), (times, packets)
    draws = {
        JitterShape.UNIFORM: lambda: random.uniform(-1, 1, size),
        JitterShape.NORMAL: lambda: np.clip(random.normal(0, 1, size), -4, 4),
        JitterShape.PARETO: lambda: np.clip(2 * random.pareto(3, size), 0, 20),
    }[distribution]()
    medians_ns = delay_ns + spread_ns * np.median(draws, axis=1)
    asked = OneWay(delay_ns=delay_ns, jitter=Jitter(spread_ns, distribution, reorders=True))
    low, high = delay_bounds_ns(asked, 0, packets, 1.0)
    assert np.count_nonzero((medians_ns < low) | (medians_ns > high)) <= 2


def test_one_packet_that_comes_too_early_is_enough() -> None:
    assert failures(ASKED, delivered(delay_min_ns=4_900_000)) == [
        "the underlay has the requested delay"
    ]
    early = OneWay(loss=0.01, delay_ns=5_000_000, jitter=Jitter(200_000))
    assert failures(early, delivered(delay_min_ns=4_900_000)) == []
    assert failures(early, delivered(delay_min_ns=4_700_000)) == [
        "the underlay has the requested delay"
    ]


def test_filters_are_looked_at() -> None:
    hole = OneWay(drop_size_and_above=1400)
    found = delivered(lost=0, delay_p50_ns=100_000, delay_min_ns=50_000)
    assert failures(hole, replace(found, oversize_arrived=0)) == []
    assert failures(hole, replace(found, oversize_arrived=1)) == ["the underlay drops long packets"]
    closed = delivered(lost=5000, delay_p50_ns=None, delay_min_ns=None)
    assert failures(OneWay(drop_udp=True), closed) == []
    whole = OneWay(drop_fragments=True)
    assert failures(whole, replace(found, fragments_arrived=0)) == []
    assert failures(whole, replace(found, fragments_arrived=1)) != []
    assert failures(OneWay(drop_udp=True), replace(closed, lost=4999)) != []


def test_a_blackout_loses_whatever_falls_into_it() -> None:
    dark = OneWay(blackout=Blackout(for_ns=10**9))
    assert failures(dark, delivered(lost=2500, delay_p50_ns=100_000, delay_min_ns=50_000)) == []
