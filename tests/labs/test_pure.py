"""The parts of the lab that only calculate."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.labs.link.offloads import makes_super_packets
from culvert.labs.link.shaping import MAX_RATE_BPS, QUEUE_S, token_bucket
from culvert.topology.plan import mac_of, plan
from culvert.topology.spec import Topology

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


@pytest.mark.parametrize("topology", get_args(Topology))
def test_addresses_are_for_benchmarks_and_differ(topology: Topology) -> None:
    plugs = [plug for cable in plan(topology).cables for plug in cable]
    addresses = [plug.attachment.address for plug in plugs]
    assert len(set(addresses)) == len(addresses)
    assert len({mac_of(address) for address in addresses}) == len(addresses)
    assert all(str(address).startswith("198.18.") for address in addresses)
    for near, far in plan(topology).cables:
        assert near.attachment.address.network == far.attachment.address.network


@pytest.mark.parametrize("topology", get_args(Topology))
def test_every_node_can_reach_the_others(topology: Topology) -> None:
    made = plan(topology)
    networks = {
        plug.attachment.address.network: plug.node for cable in made.cables for plug in cable
    }
    for node in (made.nodes[0], made.nodes[-1]):
        own = {attachment.address.network for attachment in made.attachments(node)}
        routed = {route.destination for route in made.routes if route.node == node}
        assert own | routed == set(networks)


def test_which_offloads_make_super_packets() -> None:
    makes = "tx-tcp-segmentation tx-udp-segmentation tx-generic-segmentation rx-gro rx-gro-list"
    keeps = "tx-checksum-ip-generic rx-checksum tx-scatter-gather highdma tx-vlan-hw-insert"
    assert all(map(makes_super_packets, makes.split()))
    assert not any(map(makes_super_packets, keeps.split()))
