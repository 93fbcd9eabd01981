"""Cells with IPv6 inside: inner packets are 20 bytes longer, and the proof must know it."""

from __future__ import annotations

import pytest

from culvert.results import Status
from culvert.topology.ip import LONGER_IPV6, IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, pair
from culvert.topology.spec import LabSpec
from tests.run.cells import execute, value, vpn
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
LINK = LinkSpec(rate_bps=30_000_000_000)
"""Of a rate that nothing here reaches, so that no ceiling is measured for TCP."""
INSIDE = LabSpec(pair(), LINK, inner=IpVersion.V6)


SHORT_LINK = LabSpec(pair(), LinkSpec(mtu=1300), inner=IpVersion.V6)
MESH = LabSpec(mesh(2), LINK, inner=IpVersion.V6)
OTHERS = (
    "none",
    "strongswan/esp-aes128gcm",
    "fastd/salsa2012-umac",
    "tinc/aes-256-cbc",
    "vpncloud/aes128",
    "quincy/tls",
    "sing-box/hysteria2",
    "sing-box/vless",
    "sing-box/shadowtls",
    "ssh/aes128-gcm",
    "ocserv/dtls",
    "softether/tls",
    "wireguard/boringtun",
    "wireguard/gotatun",
)


def proved(word: str, kind: str, spec: LabSpec = INSIDE) -> None:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    finding = execute(vpn(word), kind, spec)
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.parametrize("kind", ["tcp", "udp", "rtt", "icmp", "initiation"])
@pytest.mark.parametrize("word", ["wireguard/go", "openvpn/aes-256-gcm"])
def test_a_trial_is_proved(word: str, kind: str) -> None:
    proved(word, kind)


@pytest.mark.parametrize("word", OTHERS)
def test_another_vpns_trial_is_proved(word: str) -> None:
    proved(word, "udp")


@pytest.mark.slow
@pytest.mark.parametrize(
    "word", ["nebula/aes", pytest.param("headscale/direct", marks=pytest.mark.long)]
)
def test_a_meshs_trial_is_proved(word: str) -> None:
    proved(word, "udp", MESH)
    proved(word, "initiation", MESH)


def test_sizes_are_those_of_ipv4_with_the_same_payload() -> None:
    both = (LabSpec(pair(), LINK), INSIDE)
    sizes = [value(execute(vpn("wireguard/go"), "udp", one), "packet_size_bytes") for one in both]
    assert sizes == [1420, 1420 - LONGER_IPV6]


@pytest.mark.parametrize(
    ("word", "spec", "reason"),
    [
        ("wesher", INSIDE, "does not support IPv6 inside"),
        ("wireguard/go", SHORT_LINK, "1300 leaves 1220 bytes"),
    ],
)
def test_what_has_none_is_unsupported_with_the_reason(
    word: str, spec: LabSpec, reason: str
) -> None:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    finding = execute(vpn(word), "udp", spec)
    assert finding.status is Status.UNSUPPORTED
    assert reason in finding.reason
