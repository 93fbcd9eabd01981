"""All clients' packets as one stream, and what each has of its rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.measurements.gateway.crowd import (
    Carried,
    CrowdTrial,
    Load,
    Talk,
    Transport,
    forwarded_by_all,
)
from culvert.probe.results.crowd import MemberSent, MemberSunk
from culvert.probe.results.tcp import BytesInterval
from culvert.probe.results.udp import Forwarded

S, MS = 10**9, 10**6


def got(packets: int, begun_ns: int, last_ns: int) -> Forwarded:
    return Forwarded(
        packets=packets, bytes=1000 * packets, seconds=1.0, begun_ns=begun_ns, last_ns=last_ns
    )


@given(ahead_ns=st.integers(-(2**60), 2**60))
def test_clocks_of_sinks_need_not_agree(ahead_ns: int) -> None:
    zero_ns = 2**61
    one = (got(1000, zero_ns, zero_ns + S), zero_ns)
    other_ns = zero_ns + ahead_ns
    other = (got(1001, other_ns + S // 2, other_ns + 2 * S), other_ns)
    both = forwarded_by_all([one, other], 0.5)
    assert both.packets == 2001
    assert both.seconds == pytest.approx(2 * 2001 / 2000)


def test_the_time_is_at_least_that_offered() -> None:
    assert forwarded_by_all([(got(10, 0, S // 2), 0)], 3.0).seconds == 3.0
    assert forwarded_by_all([(Forwarded(), 5)], 3.0).pps == 0.0


def trial(*members: MemberSunk, **more: object) -> CrowdTrial:
    carried = [
        Carried(Talk(f"c{n}", None, None), MemberSent(), one)  # type: ignore[arg-type]
        for n, one in enumerate(members)
    ]
    return CrowdTrial(carried, 1028, 1.0, 0.0, "none", [], **more)  # type: ignore[arg-type]


def test_each_clients_udp_is_its_part_of_the_rate_of_all() -> None:
    members = [MemberSunk(forwarded=got(n, 0, 100 * MS)) for n in (100, 300)]
    whole = Forwarded(packets=400, bytes=400_000, seconds=2.0)
    rates = trial(*members, forwarded=whole).goodput_bps(Load(Transport.UDP, 1.0))
    assert rates == pytest.approx([400_000, 1_200_000])


def test_each_clients_tcp_is_its_part_of_what_crossed() -> None:
    """Of ten intervals of 100 bytes the warm-up ends in a hole of two."""
    read = [100, 100, 0, 0, 300, *[100] * 16]
    intervals = [BytesInterval(t_ns=(n + 1) * 100 * MS, bytes=b) for n, b in enumerate(read)]
    members = [MemberSunk(counted_bytes=n) for n in (500, 1500)]
    load = Load(Transport.TCP, 1.8, warmup_s=0.2)
    rates = trial(*members, intervals=intervals).goodput_bps(load)
    assert rates == pytest.approx([2000, 6000])


def test_nothing_that_arrived_is_no_rate() -> None:
    assert trial(MemberSunk()).goodput_bps(Load(Transport.TCP, 1.0)) == [0.0]
    assert trial(MemberSunk()).goodput_bps(Load(Transport.UDP, 1.0)) == [0.0]
