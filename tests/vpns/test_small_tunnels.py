"""Drivers of one file: what they declare about their packets, without a lab."""

from __future__ import annotations

from collections.abc import Sequence
from socket import IPPROTO_TCP, IPPROTO_UDP
from unittest.mock import Mock

import pytest

from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.ocserv import Ocserv
from culvert.vpns.outer import OuterPacket
from culvert.vpns.softether import SoftEther, declared
from culvert.vpns.yggdrasil import address_of
from tests.here import HERE


def driver(text: str) -> Vpn:
    return registry.create(registry.parse(text))


def packet(payload: bytes, protocol: int = IPPROTO_UDP) -> OuterPacket:
    return OuterPacket(0, True, protocol, 10000, 10000, 20 + 8 + len(payload), payload)


@pytest.mark.parametrize(
    ("vpn", "inner", "outer"),
    [
        ("fastd/salsa2012-umac", [64, 1448], [116, 1500]),
        ("vpncloud/aes128", [64, 1447], [117, 1500]),
        ("easytier/direct", [64, 1420], [144, 1500]),
        ("ocserv/dtls", [64, 1434], [130, 1500]),
        # 20 + 8, blocks of 16 for 18 bytes more, at least one byte of padding, 4 of the digest
        ("tinc/aes-256-cbc", [64, 77, 78, 1440], [128, 128, 144, 1504]),
    ],
)
def test_outer_packets_have_these_lengths(
    vpn: str, inner: Sequence[int], outer: Sequence[int]
) -> None:
    assert [driver(vpn).outer_length(length) for length in inner] == outer


@pytest.mark.parametrize(
    "vpn",
    [
        "ssh/chacha20-poly1305",
        "quincy/tls",
        "ocserv/tls",
        "softether/tls",
        "yggdrasil/tls",
        "sing-box/tuic",
    ],
)
def test_packets_inside_a_stream_or_quic_have_no_fixed_length(vpn: str) -> None:
    assert driver(vpn).outer_length(64) is None


@pytest.mark.parametrize(
    ("vpn", "handshake", "data"),
    [
        ("fastd/salsa2012-umac", b"\x01\x00\x00\x94", b"\x00\x00\x00\x00\x00\x00\x00\x02"),
        ("fastd/salsa2012-umac", b"\xc8\x03\x00\x0c", b"\x00\x00\x00\x00\x00\x00\x00\x02"),
        ("vpncloud/aes128", b"\xff" + bytes(63), b"\x00" + bytes(63)),
        ("ocserv/dtls", b"\x16\xfe\xff\x00\x00", b"\x17\xfe\xfd\x00\x01"),
        ("softether/tls", b"\x16\x03\x01", b"\x17\x03\x03"),
        (
            "easytier/direct",
            b"\x07\0\0\0\x01\0\x08\0",
            b"\x07\0\0\0\x03\0\x48\0" + bytes(8) + b"\x01",
        ),
        (
            "easytier/direct",
            b"\x07\0\0\0\x03\0\x48\0" + bytes(8) + b"\x02",
            b"\x07\0\0\0\x03\0\x48\0" + bytes(8) + b"\x01",
        ),
        ("yggdrasil/tls", b"\x16\x03\x01", b"\x17\x03\x03"),
        ("yggdrasil/tcp", b"meta\x00", b"\x42\x07"),
        ("yggdrasil/quic", b"\xc0\x00\x00\x00\x01", b"\x40\x17\x18"),
        ("quincy/tls", b"\xc0\x00\x00\x00\x01", b"\x40\x17\x18"),
        ("sing-box/hysteria2", b"\xc0\x00\x00\x00\x01", b"\x40\x17\x18"),
        ("sing-box/vless", b"\x16\x03\x01", b"\x17\x03\x03"),
    ],
)
def test_the_first_bytes_of_a_handshake_are_not_those_of_data(
    vpn: str, handshake: bytes, data: bytes
) -> None:
    assert driver(vpn).is_handshake(packet(handshake))
    assert not driver(vpn).is_handshake(packet(data))


def test_an_address_of_yggdrasil_follows_from_the_key() -> None:
    key = bytes.fromhex("00" * 1 + "1f" + "00" * 30)
    # 11 zeros, then the inverted bits behind the first one: 0000, and ones
    assert str(address_of(key)) == "20b:fff:ffff:ffff:ffff:ffff:ffff:ffff/7"


def test_all_of_rosenpass_is_a_handshake_and_of_the_tunnels_flow() -> None:
    vpn = driver("wireguard/go+rosenpass")
    hello = OuterPacket(0, True, IPPROTO_UDP, 40000, 9999, 1200, b"\x81\0\0\0")
    assert vpn.is_handshake(hello)
    assert not driver("wireguard/go").is_handshake(hello)


def test_two_sources_of_a_pre_shared_key_are_refused() -> None:
    both = [lack.what for lack in driver("wireguard/go+psk+rosenpass").missing(HERE)]
    assert "two pre-shared keys" in both


def test_tinc_negotiates_over_tcp_and_sends_data_over_udp() -> None:
    assert driver("tinc/aes-256-cbc").is_handshake(packet(b"anything", IPPROTO_TCP))
    assert not driver("tinc/aes-256-cbc").is_handshake(packet(b"anything"))


def test_tinc_starts_again_in_another_second_of_its_own_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("culvert.vpns.tinc.time", Mock(sleep=waits.append))
    node = Mock(realtime_ns=lambda: 7_750_000_000)
    node.name = "a"
    driver("tinc/aes-256-cbc").leave(node)
    assert waits == [0.25]


@pytest.mark.parametrize(
    ("payload", "is_handshake"),
    [
        (b"SSH-2.0-OpenSSH_9.2p1", True),
        (b"\x00\x00\x05\xdc\x06\x14" + b"c" * 16 + b"\0\0\x01\x48", True),  # 20: the algorithms
        (b"\x00\x00\x00\x2c\x06\x1e\x00\x00\x00\x20", True),  # 30: the client's public key
        (b"\x00\x00\x00\x0c\x0a\x15" + bytes(10), True),  # 21: new keys
        # AES-GCM: the length is in clear, and any of the others may look like a type.
        (b"\x00\x00\x04\xd0\x9e\x51" + b"\x97" * 26, False),
        (b"\x00\x00\x02\x20\x61\x14" + b"\x97" * 26, False),
        (b"\x00\x00\x02\x20\x61\x15" + b"\x97" * 26, False),
        (b"\x00\x00\x02\x20\x61\x1e" + b"\x97" * 26, False),
        (b"\x00\x00\x02\x20\x61\x1f", False),
        (b"\x7d\x00\x44\x10\x06\x14", False),
    ],
)
def test_ssh_is_in_clear_until_the_keys_are_there(payload: bytes, is_handshake: bool) -> None:
    assert driver("ssh/aes128-gcm").is_handshake(packet(payload, IPPROTO_TCP)) is is_handshake


def test_ocservs_device_ends_with_the_number_that_it_appends() -> None:
    vpn = driver("ocserv/dtls")
    assert isinstance(vpn, Ocserv)
    vpn.choose(Mock(free_device=lambda _: "vpns1", free_port=lambda port: port))
    assert (vpn.device, vpn.port) == ("vpns10", 443)


def test_softethers_programs_put_a_prefix_before_the_device() -> None:
    vpn = driver("softether/tls")
    assert isinstance(vpn, SoftEther)
    vpn.choose(Mock(free_device=lambda name: f"{name}1", free_port=lambda port: port))
    source, target = Mock(), Mock()
    source.name, target.name = "a", "b"
    vpn._lab = Mock(of_role=lambda _: (), b=target)
    assert (vpn.interface(source), vpn.interface(target)) == ("vpn_culvert1", "tap_culvert1")


def test_a_configuration_of_softether_names_the_type_of_each_value() -> None:
    tree = {"Enabled": True, "Port": 443, "Key": b"\0\1", "Inner": {"Name": "$"}}
    lines = ["bool Enabled true", "uint Port 443", "byte Key AAE="]
    text = "\n".join(
        ["declare x", "{", *lines, "declare Inner", "{", "string Name $", "}", "}", ""]
    )
    assert declared("x", tree) == text
