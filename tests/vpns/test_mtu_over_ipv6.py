"""The MTU of a tunnel's device on an underlay of IPv6, and of a stream."""

from __future__ import annotations

import pytest

from culvert.topology.ip import LEAST_MTU_IPV6, IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.vpns.tundevice import TunDevice

from .tunnels import driver


class _Lab:
    def __init__(self, mtu: int, underlay: IpVersion) -> None:
        self.spec = LabSpec(link=LinkSpec(mtu=mtu), underlay=underlay)


@pytest.mark.parametrize(
    ("vpn", "mtu", "underlay", "inner_mtu"),
    [
        ("ocserv/dtls", 1500, IpVersion.V4, 1434),
        ("ocserv/dtls", 1500, IpVersion.V6, 1414),
        ("ocserv/tls", 1500, IpVersion.V6, 1414),  # the server's device is the same
        ("openvpn/aes-256-gcm+tcp", 1500, IpVersion.V6, 1500),
        ("openvpn/aes-256-gcm+tcp", 1280, IpVersion.V6, LEAST_MTU_IPV6),
        ("openvpn/aes-256-gcm+tcp", 600, IpVersion.V4, LEAST_MTU_IPV6),
    ],
)
def test_a_packet_fits_the_link_and_a_stream_needs_no_room(
    vpn: str, mtu: int, underlay: IpVersion, inner_mtu: int
) -> None:
    tunnel = driver(vpn)
    assert isinstance(tunnel, TunDevice)
    tunnel._lab = _Lab(mtu, underlay)  # type: ignore[assignment]
    assert tunnel.inner_mtu == inner_mtu
