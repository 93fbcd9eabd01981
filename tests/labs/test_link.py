"""The cable of a lab: connectivity, MTU, rate, and that only wire packets cross it."""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Interface
from typing import Any

import pytest

from culvert.errors import LabError, UsageError
from culvert.labs.link import offloads
from culvert.labs.link.token_bucket import token_bucket
from culvert.labs.netns.lab import NetnsLab
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from tests.conftest import LabFactory
from tests.labs.traffic import (
    UDP_SEGMENT,
    can_reach,
    capture,
    captured_lengths,
    tcp_pair,
    udp_pair,
)

pytestmark = pytest.mark.lab
MTU = 1500
MEGABYTE = bytes(1 << 20)


def test_pair_is_connected_both_ways(lab: LabFactory) -> None:
    pair = lab()
    assert can_reach(pair.a, pair.b, port=5001)
    assert can_reach(pair.b, pair.a, port=5001)


def test_two_labs_have_nothing_to_do_with_each_other(lab: LabFactory) -> None:
    one, other = lab(), lab()
    with udp_pair(one.a, one.b) as (near, far), udp_pair(other.a, other.b) as (_, foreign):
        near.send(b"x")
        assert far.recv(10) == b"x"
        foreign.setblocking(False)
        with pytest.raises(BlockingIOError):
            foreign.recv(10)


@pytest.mark.parametrize("mtu", [68, 1280, 1500, 9000])
def test_mtu_is_exact(lab: LabFactory, mtu: int) -> None:
    pair = lab(LabSpec(link=LinkSpec(mtu=mtu)))
    for node in (pair.a, pair.b):
        state = node.link("u0")
        assert state is not None
        assert (state.mtu, state.kind, state.up) == (mtu, "veth", True)
        assert state.addresses == (node.underlay.address,)
    with udp_pair(pair.a, pair.b) as (near, far):
        near.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
        near.send(bytes(mtu - 28))
        assert len(far.recv(65536)) == mtu - 28
        with pytest.raises(OSError, match="too long") as caught:
            near.send(bytes(mtu - 27))
        assert caught.value.errno == errno.EMSGSIZE


def test_nothing_crosses_an_idle_link(lab: LabFactory) -> None:
    """No address resolution, no IPv6: what is counted on the link is the test's own traffic."""
    pair = lab()
    with capture(pair.a, "u0") as tap, udp_pair(pair.a, pair.b) as (near, far):
        near.send(bytes(100))
        far.recv(1000)
        assert captured_lengths(tap) == [128]


def _longest(lab: NetnsLab, kind: str) -> int:
    with capture(lab.a, "u0") as at_sender, capture(lab.b, "u0") as at_receiver:
        (_send_tcp if kind == "tcp" else _send_udp_gso)(lab)
        return max(captured_lengths(at_sender) + captured_lengths(at_receiver))


def _send_tcp(lab: NetnsLab, *, to: IPv4Address | None = None) -> None:
    with tcp_pair(lab.a, lab.b, to=to) as (near, far):
        left = len(MEGABYTE)
        sent = 0
        near.setblocking(False)
        while left:
            if sent < len(MEGABYTE):
                with suppress(BlockingIOError):
                    sent += near.send(MEGABYTE[sent:])
            left -= len(far.recv(1 << 20))


def _send_udp_gso(lab: NetnsLab) -> None:
    with udp_pair(lab.a, lab.b) as (near, far):
        near.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1400)
        near.send(bytes(14000))
        assert sum(len(far.recv(65536)) for _ in range(10)) == 14000


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_only_wire_packets_cross_without_offloads(lab: LabFactory, kind: str) -> None:
    assert 1400 < _longest(lab(), kind) <= MTU


def test_only_wire_packets_of_a_tunnel_cross_without_offloads(lab: LabFactory) -> None:
    """A kernel tunnel passes TCP's super-packets on, for the device below to cut."""
    pair = lab()
    ends = {pair.a: "198.19.0.1/24", pair.b: "198.19.0.2/24"}
    for node, peer in ((pair.a, pair.b), (pair.b, pair.a)):
        far = str(peer.underlay.address.ip)
        try:
            node.add_link("t0", "vxlan", vxlan_id=1, vxlan_group=far, vxlan_port=4789)
        except LabError as error:
            pytest.skip(f"this kernel has no vxlan: {error}")
        node.add_address("t0", IPv4Interface(ends[node]))
        node.set_link("t0", up=True, mtu=1450)
    through_tunnel = IPv4Interface(ends[pair.b]).ip
    with capture(pair.a, "u0") as tap:
        _send_tcp(pair, to=through_tunnel)
        assert max(captured_lengths(tap)) == MTU


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_super_packets_cross_with_offloads(lab: LabFactory, kind: str) -> None:
    """The counterpart: the capture above would show them."""
    assert _longest(lab(LabSpec(link=LinkSpec(offloads=True))), kind) > MTU


def test_checksum_offload_stays(lab: LabFactory) -> None:
    features = lab().a.inside(lambda: offloads.read("u0"))
    assert features["tx-checksum-ip-generic"]
    assert not features["tx-udp-segmentation"]
    assert not features["tx-tcp-segmentation"]
    assert not features["tx-udp_tnl-segmentation"]


@pytest.mark.parametrize("rate_bps", [1_000_000, 1_000_000_000, 10_000_000_000])
def test_rate_limit_is_what_was_asked_for(lab: LabFactory, rate_bps: int) -> None:
    pair = lab(LabSpec(link=LinkSpec(rate_bps=rate_bps)))
    bucket = token_bucket(rate_bps, MTU)
    for node in (pair.a, pair.b):

        def root_qdisc(netlink: Any) -> Any:
            return next(q for q in netlink.get_qdiscs() if q.get_attr("TCA_KIND") == "tbf")

        options = node.namespace.netlink(root_qdisc, "qdiscs").get_attr("TCA_OPTIONS")
        parameters = options.get_attr("TCA_TBF_PARMS")
        assert parameters["rate"] * 8 == rate_bps
        assert parameters["limit"] == bucket.limit_bytes
        # The kernel keeps the burst as a time, in ticks of 64 ns.
        burst_ns = bucket.burst_bytes * 1e9 / bucket.rate_bytes_per_s
        assert abs(parameters["buffer"] * 64 - burst_ns) <= 2000
    assert can_reach(pair.a, pair.b, port=5001)


def test_without_a_rate_there_is_no_queue(lab: LabFactory) -> None:
    qdiscs = lab().a.namespace.netlink(lambda netlink: list(netlink.get_qdiscs()), "qdiscs")
    assert {q.get_attr("TCA_KIND") for q in qdiscs} <= {"noqueue"}


@pytest.mark.parametrize(
    "link",
    [LinkSpec(rate_bps=0), LinkSpec(rate_bps=10**12), LinkSpec(kind="wire", mtu=65_522)],
)
def test_impossible_links_are_refused(link: LinkSpec) -> None:
    with pytest.raises(UsageError):
        NetnsLab("abcdef", LabSpec(link=link))
