"""dekker2020's table 3: the largest UDP payloads at an Ethernet MTU of 1500."""

from __future__ import annotations

import pytest

from culvert.vpns.wireguard.variants import UNDERLAY_ROOM

from .tunnels import planned

ETHERNET_MTU = 1500
UDP_HEADERS = 28
TCP_HEADERS = 52
"""With timestamps, as iPerf sent them there."""


@pytest.mark.parametrize(
    ("vpns", "device_mtu", "udp", "tcp"),
    [
        (("strongswan/esp-aes128cbc-sha256+kernel",), ETHERNET_MTU, 1410, 1386),
        (
            ("strongswan/esp-aes128gcm+kernel", "strongswan/esp-aes256gcm+kernel"),
            ETHERNET_MTU,
            1418,
            1394,
        ),
        (("strongswan/esp-chacha20poly1305+kernel",), ETHERNET_MTU, 1418, 1394),
        (("openvpn/aes-128-cbc", "openvpn/aes-256-cbc"), ETHERNET_MTU, 1375, 1351),
        (("openvpn/aes-128-gcm", "openvpn/aes-256-gcm"), ETHERNET_MTU, 1420, 1396),
        (("wireguard/kernel", "wireguard/go"), ETHERNET_MTU - UNDERLAY_ROOM, 1392, 1368),
        (("none",), ETHERNET_MTU, 1472, 1448),
    ],
)
def test_the_largest_payload(vpns: tuple[str, ...], device_mtu: int, udp: int, tcp: int) -> None:
    for word in vpns:
        vpn = planned(word)
        largest = max(
            inner
            for inner in range(64, device_mtu + 1)
            if (vpn.outer_length(inner) or ETHERNET_MTU + 1) <= ETHERNET_MTU
        )
        assert (largest - UDP_HEADERS, largest - TCP_HEADERS) == (udp, tcp), word
