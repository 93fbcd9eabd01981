"""Cells over IPv6: the proof must see the tunnel's packets, each 20 bytes longer than over IPv4."""

from __future__ import annotations

import pytest

from culvert.results import Status
from culvert.topology.ip import LONGER_IPV6, IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, pair
from culvert.topology.spec import LabSpec
from culvert.vpns.none import NoVpn
from tests.run.cells import execute, value, vpn
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
LINK = LinkSpec(rate_bps=30_000_000_000)
"""Of a rate that nothing here reaches, so that no ceiling is measured for TCP."""
IPV6 = LabSpec(pair(), LINK, underlay=IpVersion.V6)
MESH = LabSpec(mesh(2), LINK, underlay=IpVersion.V6)
"""All routes are IPv6, and the core forwards no IPv4."""
WORDS = (
    "none",
    "wireguard/go",
    "openvpn/aes-256-gcm",
    "openvpn/aes-256-gcm+tcp",
    "strongswan/esp-aes128gcm",
)


@pytest.mark.parametrize("kind", ["tcp", "udp", "rtt", "icmp", "initiation"])
@pytest.mark.parametrize("word", WORDS)
def test_a_trial_between_two_nodes_is_proved(word: str, kind: str) -> None:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    finding = execute(vpn(word), kind, IPV6)
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.slow
@pytest.mark.parametrize("word", ["none", "wireguard/go", "headscale/direct", "headscale/relay"])
def test_a_trial_across_a_core_without_ipv4_is_proved(word: str) -> None:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    finding = execute(vpn(word), "rtt", MESH)
    assert (finding.status, finding.reason) == (Status.OK, "")


def test_the_baselines_largest_packet_has_the_payload_of_one_of_ipv4() -> None:
    sizes = [
        value(execute(NoVpn(NoVpn.variants[0]), "udp", spec), "packet_size_bytes")
        for spec in (LabSpec(pair(), LINK), IPV6)
    ]
    assert sizes == [1500, 1500 - LONGER_IPV6]
