"""The most common form of a driver, with a program that is as small as its driver."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import ClassVar

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from culvert.vpns.authoring import (
    DataCipher,
    Host,
    Node,
    Process,
    TunProgram,
    Variant,
    check_here,
    underlay_address,
)
from culvert.vpns.contract.rules import Rule
from tests.here import HERE

from .tunnels import planned

PLAIN = """
import fcntl, os, select, socket, struct, sys
device, port, peer = sys.argv[1], int(sys.argv[2]), (sys.argv[3], int(sys.argv[2]))
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", device.encode(), 0x1001))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("0.0.0.0", port))
while True:
    for ready in select.select([tun, udp], [], [])[0]:
        if ready is tun:
            udp.sendto(os.read(tun, 65535), peer)
        else:
            os.write(tun, udp.recv(65535))
"""


class Plain(TunProgram):
    """Packets of a tun device in UDP: it creates the device and configures nothing."""

    name = "plain"
    summary = "no encryption, for tests"
    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("plain", "UDP", {"key exchange": "none"}, DataCipher.NONE, encrypts=False),
    )
    program = sys.executable
    device = "plain0"
    port = 4242
    overhead = 20 + 8
    configures_device = False

    def configure(self) -> None:
        """There is nothing to configure."""

    def arguments(self, node: Node) -> Sequence[str]:
        (peer,) = self.peers(node)
        return ["-I", "-S", "-c", PLAIN, self.device, str(self.port), str(underlay_address(peer))]


class Earlier(Plain):
    """As drivers were written when a program always configured its device."""

    def start(self, node: Node) -> object:  # type: ignore[override]
        process = self.start_process(node, [sys.executable, *self.arguments(node)], "plain")
        self.await_fact(lambda: node.link(self.device), process, "the device")
        node.add_address(self.device, self.inner(node))
        node.set_link(self.device, up=True, mtu=self.lab.spec.mtu - self.overhead)
        return process

    def missing(self, host: Host) -> list[object]:  # type: ignore[override]
        return []


class Other(Plain):
    """The same with another program."""

    program_text = PLAIN

    def arguments(self, node: Node) -> Sequence[str]:
        return [self.program_text if word == PLAIN else word for word in super().arguments(node)]


class Late(Other):
    """Its program goes on with its device, and fails if that is up by then."""

    program_text = PLAIN.replace(
        "udp = ",
        """import time
time.sleep(0.3)
if int(open(f"/sys/class/net/{device}/flags").read(), 16) & 1: sys.exit("it is up already")
print("done", flush=True)
udp = """,
    )

    def has_made_device(self, node: Node, process: Process) -> bool:
        return "done" in process.log_text()


class Compressing(Other):
    """Its packets are in no stream, but have no fixed length: they are shorter than what is in
    them."""

    overhead = None  # type: ignore[assignment]
    program_text = (
        PLAIN.replace("import fcntl", "import zlib, fcntl")
        .replace("os.read(tun, 65535)", "zlib.compress(os.read(tun, 65535))")
        .replace("udp.recv(65535)", "zlib.decompress(udp.recv(65535))")
    )


def test_what_follows_from_its_attributes() -> None:
    vpn = Plain(Plain.variants[0])
    vpn._lab = planned("none").lab
    assert vpn.missing(HERE) == []
    assert vpn.version(HERE).startswith("Python 3.")
    assert vpn.inner_mtu == LabSpec().mtu - 28
    assert vpn.device == "plain0"
    flow = vpn.outer_flow
    assert flow is not None
    assert (flow.protocol, flow.ports) == (17, frozenset({4242}))


def test_a_program_without_a_role_is_found_on_path() -> None:
    class Absent(Plain):
        program = "no-such-program"

    (lack,) = Absent(Plain.variants[0]).missing(HERE)
    assert (lack.what, lack.remedy) == ("no-such-program", "put no-such-program on PATH")


@pytest.mark.lab
def test_a_device_that_is_set_up_may_be_set_up_again() -> None:
    with NetnsLab(new_run_id(), LabSpec()) as lab:
        vpn = Plain(Plain.variants[0])
        vpn.prepare(lab)
        process = vpn.start(lab.a)
        vpn.set_up_device(lab.a)
        link = lab.a.link("plain0")
        assert link is not None
        assert (link.up, link.mtu, link.addresses) == (True, 1472, (vpn.inner(lab.a),))
        assert process.alive()
        vpn.stop(lab)
        assert lab.a.link("plain0") is None


@pytest.mark.lab
@pytest.mark.parametrize("driver", [Plain, Earlier, Late])
def test_it_keeps_the_contract(driver: type[Plain]) -> None:
    assert check_here(lambda: driver(Plain.variants[0])) == []


@pytest.mark.lab
def test_compression_is_named() -> None:
    found = check_here(lambda: Compressing(Plain.variants[0]))
    assert {each.rule for each in found} == {Rule.LENGTHS}
    assert all("must be at least" in each.detail for each in found)
    assert any(each.detail.endswith("if the VPN compresses, switch that off") for each in found)
