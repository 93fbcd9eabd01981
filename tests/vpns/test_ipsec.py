from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from culvert.machine.trials.commands import ESP_SUITES
from culvert.vpns import registry
from culvert.vpns.facts import ProgramEnded
from culvert.vpns.ipsec import transforms as ipsec
from culvert.vpns.ipsec.transforms import TRANSFORMS, Carriage
from culvert.vpns.outer import OuterFlow, OuterPacket, largest_inner
from culvert.vpns.xfrm import Xfrm
from tests.here import HERE

CRYPTO = """\
name         : gcm(aes)
driver       : generic-gcm
priority     : 100

name         : gcm(aes)
driver       : gcm-aesni
priority     : 400

name         : hmac(sha256)
driver       : hmac-sha256-ni
"""


def packet(protocol: int, port: int = 0) -> OuterPacket:
    return OuterPacket(0, True, protocol, port, port, 100, b"")


def test_doctor_tries_each_cipher_of_esp() -> None:
    ciphers = {each.cipher for each in TRANSFORMS.values() if each.shape is not None}
    assert ciphers == set(ESP_SUITES)


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        ("esp-aes128cbc-sha256", 1438),
        ("esp-aes256gcm", 1446),
        ("esp-chacha20poly1305", 1446),
        ("esp-null-sha256", 1454),
        ("ah-sha256", 1452),
    ],
)
def test_the_largest_inner_packet(name: str, inner: int) -> None:
    carriage = Carriage(TRANSFORMS[name])
    assert largest_inner(carriage.outer_length, 1500) == inner
    assert carriage.outer_length(inner) <= 1500 < carriage.outer_length(inner + 1)


def test_which_packets_are_the_tunnels() -> None:
    gcm, ah = (TRANSFORMS[name] for name in ("esp-aes128gcm", "ah-sha256"))
    esp = Carriage(gcm).outer_flow(ipsec.IKE)
    assert esp.has(packet(50))
    assert esp.has(packet(17, 500))
    assert not esp.has(packet(17, 53))
    assert not esp.has(packet(51))
    assert Carriage(ah).outer_flow().has(packet(51))
    in_udp = Carriage(gcm, in_udp=True).outer_flow(ipsec.IKE)
    assert not in_udp.has(packet(50))
    assert in_udp.has(packet(17, 4500))


def test_what_a_device_decrypts_is_not_shown_on_the_underlay() -> None:
    gcm = TRANSFORMS["esp-aes128gcm"]
    assert Carriage(gcm).outer_flow().decrypts_there
    assert not Carriage(gcm, route=True).outer_flow().decrypts_there
    assert not OuterFlow(17).decrypts_there


def test_the_kernels_driver_is_the_one_of_the_highest_priority() -> None:
    assert ipsec._drivers(CRYPTO) == {"gcm(aes)": "gcm-aesni"}


def test_the_version_names_the_kernel() -> None:
    version = Carriage(TRANSFORMS["esp-aes128gcm"]).kernel_version(HERE)
    assert Path("/proc/sys/kernel/osrelease").read_text().strip() in version


def test_a_socket_that_was_not_bound_in_time_is_closed_too() -> None:
    vpn = registry.create(registry.parse("xfrm/esp-aes128gcm+encap"))
    assert isinstance(vpn, Xfrm)
    process = Mock(alive=lambda: False, log_text=lambda: "")
    node = Mock(directory=Path(), daemon=lambda *_, **__: process, exists=lambda _: False)
    with pytest.raises(ProgramEnded):
        vpn._open_socket(node)
    vpn.leave(node)
    process.stop.assert_called_once_with()
