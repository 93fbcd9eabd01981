"""The parts of the lab that only calculate."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from culvert.labs.link.offloads import makes_super_packets
from culvert.labs.link.token_bucket import MAX_RATE_BPS, QUEUE_S, token_bucket

RATES = st.integers(8000, MAX_RATE_BPS)
MTUS = st.integers(68, 65535)


@given(RATES, MTUS)
def test_the_bucket_passes_the_largest_frame_and_the_exact_rate(rate_bps: int, mtu: int) -> None:
    bucket = token_bucket(rate_bps, mtu)
    assert bucket.rate_bytes_per_s == rate_bps // 8
    assert bucket.burst_bytes >= mtu + 14
    assert bucket.limit_bytes >= bucket.burst_bytes + bucket.rate_bytes_per_s * QUEUE_S - 1


@given(RATES.filter(lambda rate: rate >= 25_000_000))
def test_the_burst_adds_little_to_an_average(rate_bps: int) -> None:
    assert token_bucket(rate_bps, 1500).burst_bytes * 8 / (rate_bps * 5) < 0.0005


def test_which_offloads_make_super_packets() -> None:
    makes = "tx-tcp-segmentation tx-udp-segmentation tx-generic-segmentation rx-gro rx-gro-list"
    keeps = "tx-checksum-ip-generic rx-checksum tx-scatter-gather highdma tx-vlan-hw-insert"
    assert all(map(makes_super_packets, makes.split()))
    assert not any(map(makes_super_packets, keeps.split()))
