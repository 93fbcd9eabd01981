"""Tunnels that encrypt less than they say, each in another way: not one of them is ok.

Behind a header as WireGuard's their packets are sealed by a program that is as small as it can be,
except for what the sabotage leaves out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from culvert.measurements.apps.quic import Quic
from culvert.measurements.base import Measurement
from culvert.measurements.tcp.transactions import TcpRr
from culvert.measurements.udp.udp import Udp
from culvert.results import Status
from culvert.vpns.authoring import (
    DataCipher,
    Node,
    OuterMessage,
    OuterPacket,
    TunProgram,
    Variant,
    underlay_address,
)
from tests.run.cells import measure

pytestmark = [pytest.mark.lab]

PROGRAM = """
import fcntl, hashlib, os, select, socket, struct, sys
device, port, peer = sys.argv[1], int(sys.argv[2]), (sys.argv[3], int(sys.argv[2]))
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", device.encode(), 0x1001))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("0.0.0.0", port))
session = os.urandom(4)
DATA, HELLO, SECRET = 4, 1, b"shared by both ends"

def xor(data, pad):
    size = len(data)
    return (int.from_bytes(data) ^ int.from_bytes(pad[:size])).to_bytes(size)

def stream(name, size):
    return hashlib.shake_256(SECRET + name).digest(size)

def seal(packet, name):
    return xor(packet, stream(name, len(packet)))

ONE_PAD = stream(b"the same for all", 2000)
def is_marked(packet):
    return len(packet) > 60 and all(byte & 0xF0 == 0xA0 for byte in packet[-8:])

def sealed(number, name, packet):
    return DATA, seal(packet, name)

def opened(kind, number, name, data):
    return seal(data, name)

SABOTAGE

number = 0
while True:
    for ready in select.select([tun, udp], [], [])[0]:
        if ready is tun:
            number += 1
            name = session + number.to_bytes(8, "little")
            kind, data = sealed(number, name, os.read(tun, 65535))
            udp.sendto(bytes([kind, 0, 0, 0]) + name + data + stream(name + b"tag", 16), peer)
        else:
            got = udp.recv(65535)
            name = got[4:16]
            count = int.from_bytes(name[4:], "little")
            os.write(tun, opened(got[0], count, name, got[16:-16]))
"""
SMALL_IN_CLEAR = """
def sealed(number, name, packet):
    return DATA, packet if len(packet) <= 80 else seal(packet, name)

def opened(kind, number, name, data):
    return data if len(data) <= 80 else seal(data, name)
"""
HEADERS_IN_CLEAR = """
def sealed(number, name, packet):
    return DATA, packet[:40] + seal(packet[40:], name)

def opened(kind, number, name, data):
    return data[:40] + seal(data[40:], name)
"""
ONE_PAD = """
def sealed(number, name, packet):
    return DATA, xor(packet, ONE_PAD)

def opened(kind, number, name, data):
    return xor(data, ONE_PAD)
"""
SAID_TO_BE_A_HANDSHAKE = """
def sealed(number, name, packet):
    return (DATA, seal(packet, name)) if number % 12 else (HELLO, xor(packet, ONE_PAD))

def opened(kind, number, name, data):
    return seal(data, name) if number % 12 else xor(data, ONE_PAD)
"""
ALL_BUT_MARKED_IN_CLEAR = """
def swap(packet, name):
    return packet if packet[0] >> 4 == 4 and not is_marked(packet) else seal(packet, name)

def sealed(number, name, packet):
    return DATA, swap(packet, name)

def opened(kind, number, name, data):
    return data if data[:1] == b"E" and data[12:14] == b"\\xc6\\x13" else seal(data, name)
"""
PADDED_WITH_A_CONSTANT = """
def sealed(number, name, packet):
    if len(packet) <= 200 or not is_marked(packet):
        return DATA, seal(packet, name)
    return DATA, seal(packet[:120], name) + ONE_PAD[: len(packet) - 120]

def opened(kind, number, name, data):
    if data[120:] != ONE_PAD[: len(data) - 120] or len(data) <= 200:
        return seal(data, name)
    begin = seal(data[:120], name)
    mark = begin[56:88]
    return begin[:56] + (mark * 60)[: len(data) - 56]
"""


class Sabotaged(TunProgram):
    """A tunnel in UDP: type, three zeros, receiver, counter; ciphertext; tag."""

    name = "sabotaged"
    summary = "encrypts less than it says, for tests"
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("here", "UDP", {"key exchange": "none"}, DataCipher.OTHER),
    )
    program = sys.executable
    device, port, overhead = "sabot0", 4242, 20 + 8 + 16 + 16
    configures_device = False
    noise_from: ClassVar[int] = 16

    def __init__(self, sabotage: str = "", *, declares: bool = True) -> None:
        super().__init__(self.variants[0])
        self._sabotage = sabotage
        self._declares = declares

    def configure(self) -> None:
        """There is nothing to configure."""

    def arguments(self, node: Node) -> Sequence[str]:
        (peer,) = self.peers(node)
        text = PROGRAM.replace("SABOTAGE", self._sabotage)
        return ["-I", "-S", "-c", text, self.device, str(self.port), str(underlay_address(peer))]

    def is_handshake(self, packet: OuterPacket) -> bool:
        return packet.payload[:1] == b"\1"

    @property
    def messages(self) -> tuple[OuterMessage, ...]:
        if not self._declares:
            return ()
        data = OuterMessage(b"\4\0\0\0", least=32, noise_from=self.noise_from)
        return data, OuterMessage(b"\1\0\0\0")


class BehindItsEnd(Sabotaged):
    noise_from = 2000


TCP_RR: dict[str, Any] = {"duration": "1s"}
UDP: dict[str, Any] = {"duration": "1s", "packet_size": 600, "rate": "5Mbit/s"}
SMALL = {**UDP, "packet_size": 80, "rate": "500kbit/s"}
QUIC: dict[str, Any] = {"duration": "1s"}
LOADS: dict[str, tuple[type[Measurement[Any]], dict[str, Any]]] = {
    "tcp_rr": (TcpRr, TCP_RR),
    "udp": (Udp, UDP),
    "small udp": (Udp, SMALL),
    "quic": (Quic, QUIC),
}
IN_COMMON = "packets have nothing in common"
FEW = "few packets of a handshake"


def failed(vpn: Sabotaged, load: str) -> set[str]:
    """The names of the failed checks, without the place."""
    measurement, parameters = LOADS[load]
    finding = measure(vpn, measurement(), parameters)
    checks = [check for check in finding.evidence.checks if not check.passed]
    assert (finding.status is Status.INVALID) == bool(checks), finding.reason
    return {check.name.split(" (")[0] for check in checks}


@pytest.mark.parametrize("load", LOADS)
def test_what_encrypts_all_is_ok(load: str) -> None:
    assert failed(Sabotaged(), load) == set()


@pytest.mark.parametrize(
    ("sabotage", "load", "check"),
    [
        (SMALL_IN_CLEAR, "tcp_rr", IN_COMMON),
        (SMALL_IN_CLEAR, "small udp", IN_COMMON),
        (HEADERS_IN_CLEAR, "udp", IN_COMMON),
        (HEADERS_IN_CLEAR, "tcp_rr", IN_COMMON),
        (ALL_BUT_MARKED_IN_CLEAR, "quic", IN_COMMON),
        (ONE_PAD, "udp", IN_COMMON),
        (ONE_PAD, "tcp_rr", IN_COMMON),
        (PADDED_WITH_A_CONSTANT, "udp", IN_COMMON),
        (SAID_TO_BE_A_HANDSHAKE, "udp", FEW),
    ],
)
@pytest.mark.parametrize("declares", [True, False])
def test_what_encrypts_less_is_invalid(
    *, sabotage: str, load: str, check: str, declares: bool
) -> None:
    found = failed(Sabotaged(sabotage, declares=declares), load)
    assert found
    if declares:
        assert any(name.startswith(check) for name in found), found


def test_an_inner_header_in_clear_text_is_named() -> None:
    assert "no clear text on the underlay" in failed(Sabotaged(HEADERS_IN_CLEAR), "udp")


def test_ciphertext_behind_the_packets_end_is_none() -> None:
    assert "each packet is a message of the VPN" in failed(BehindItsEnd(ONE_PAD), "udp")
