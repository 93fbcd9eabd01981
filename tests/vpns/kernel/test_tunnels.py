"""Every VPN of the kernel: up, proved, measured and gone; on this kernel, or in a guest."""

from __future__ import annotations

from typing import ClassVar

import pytest

from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.probe.client import Probe
from culvert.results import Status
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import routed
from culvert.topology.spec import LabSpec
from culvert.vpns.abilities import dropping, rekeying, resuming
from culvert.vpns.base import Vpn
from culvert.vpns.contract import check
from culvert.vpns.contract.observe import PINGS, captured_on, node_state, pings_of, silent
from culvert.vpns.ipsec.transforms import TRANSFORMS
from culvert.vpns.openvpn.driver import OpenVpn
from culvert.vpns.outer import OuterPacket
from culvert.vpns.variant import DataPath
from tests.quiet import quiet
from tests.run.cells import execute, value

from ...conftest import LabFactory
from ..tunnels import bring_up, driver, largest_inner
from .needs import require

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
PLAIN = [
    "wireguard/kernel",
    *(f"strongswan/{name}+kernel" for name in TRANSFORMS),
    *(f"xfrm/{name}" for name in TRANSFORMS),
    "gre/esp-aes128gcm",
    "gre/esp-aes256gcm",
    *(f"openvpn/{variant.name}" for variant in OpenVpn.variants if variant.name.startswith("dco-")),
]
WAYS = [
    "wireguard/kernel+psk",
    *(f"strongswan/{name}+kernel+transport" for name in TRANSFORMS),
    *(f"xfrm/{name}+transport" for name in TRANSFORMS),
    "strongswan/esp-aes128cbc-sha256+kernel+route",
    "strongswan/ah-sha256+kernel+route",
    "strongswan/esp-aes256gcm+encap+kernel",
    "strongswan/esp-aes256gcm+encap+kernel+transport",
    "strongswan/esp-aes256gcm+cert+kernel",
    "xfrm/esp-chacha20poly1305+route",
    "xfrm/esp-aes256gcm+encap",
    "xfrm/esp-aes128cbc-sha256+encap+transport",
    "xfrm/esp-null-sha256+encap+route",
]
ONE_OF_EACH = [
    "wireguard/kernel+psk",
    "strongswan/esp-aes128gcm+cert+kernel",
    "strongswan/ah-sha256+kernel+transport",
    "strongswan/esp-aes128cbc-sha256+kernel+route",
    "strongswan/esp-chacha20poly1305+encap+kernel",
    "xfrm/esp-null-sha256",
    "gre/esp-aes128gcm",
]
CONTRACT = [
    "wireguard/kernel",
    "strongswan/esp-aes256gcm+kernel",
    "strongswan/ah-sha256+kernel+transport",
    "xfrm/esp-aes128gcm",
    "gre/esp-aes256gcm",
    "openvpn/dco-chacha20-poly1305",
]
WITH_A_HANDSHAKE = [
    "wireguard/kernel",
    "strongswan/esp-aes256gcm+kernel",
    "strongswan/esp-aes256gcm+kernel+transport",
    "strongswan/ah-sha256+kernel+route",
    "openvpn/dco-aes-128-gcm",
]


@pytest.mark.parametrize("word", [*PLAIN, *WAYS])
def test_up_with_exact_lengths_on_the_wire(lab: LabFactory, word: str) -> None:
    require(word)
    vpn, pair = driver(word), lab()
    with Probe(pair.a) as a, Probe(pair.b) as b:
        before = [node_state(node).objects for node in (pair.a, pair.b)]
        bring_up(vpn, pair)
        found = {vpn.determine_data_path(node) for node in (pair.a, pair.b)}
        assert found == {DataPath.KERNEL}
        assert pings_of(b, vpn.inner(pair.a).ip) == 1
        with captured_on(pair.a) as capture:
            for inner in (64, 512, 1024, largest_inner(vpn, pair)):
                capture.packets()
                assert pings_of(a, vpn.inner(pair.b).ip, length=inner, count=PINGS) == PINGS
                sent = [
                    each.length
                    for each in tunnelled(vpn, capture.packets())
                    if each.outgoing and not vpn.is_handshake(each)
                ]
                assert set(sent) == {vpn.outer_length(inner)}
        vpn.stop(pair)
        assert [node_state(node).objects for node in (pair.a, pair.b)] == before


def tunnelled(vpn: Vpn, packets: list[OuterPacket]) -> list[OuterPacket]:
    flow = vpn.outer_flow
    assert flow is not None
    return [packet for packet in packets if flow.has(packet)]


@pytest.mark.parametrize("word", ["xfrm/esp-aes256gcm", "gre/esp-aes128gcm"])
def test_what_has_no_handshake_has_no_initiation(word: str) -> None:
    require(word)
    finding = execute(driver(word), "initiation")
    assert finding.status is Status.UNSUPPORTED
    assert "manual" in finding.reason


@pytest.mark.parametrize("kind", ["tcp", "rtt_slow"])
@pytest.mark.parametrize("word", ONE_OF_EACH)
def test_each_way_is_proved_and_counts(word: str, kind: str) -> None:
    require(word)
    finding = quiet(lambda: execute(driver(word), kind))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert finding.evidence.proved
    assert "Linux" in finding.version


class FallsBack(OpenVpn):
    """Its data channel is not in the kernel on some node, though the variant says so."""

    nodes: ClassVar[tuple[str, ...]]

    def configure(self) -> None:
        super().configure()
        for node in self.lab.members:
            if node.name not in self.nodes:
                continue
            written = (node.directory / "openvpn/config").read_text()
            node.write("openvpn/config", written + "disable-dco\n")


@pytest.mark.parametrize("nodes", [("a", "b"), ("a",), ("b",)])
def test_an_offload_that_fell_back_to_user_space_does_not_count(
    monkeypatch: pytest.MonkeyPatch, nodes: tuple[str, ...]
) -> None:
    require("openvpn/dco-aes-256-gcm")
    monkeypatch.setattr(FallsBack, "nodes", nodes, raising=False)
    vpn = FallsBack(next(v for v in OpenVpn.variants if v.name == "dco-aes-256-gcm"))
    finding = execute(vpn, "tcp")
    assert finding.status is Status.INVALID
    assert "user space" in finding.reason


@pytest.mark.parametrize("word", CONTRACT)
def test_the_contract_holds_in_a_guest(word: str) -> None:
    require(word)

    def make_lab() -> Lab:
        return NetnsLab(new_run_id(), LabSpec())

    assert check(lambda: driver(word), make_lab) == []


@pytest.mark.parametrize("word", WITH_A_HANDSHAKE)
def test_it_is_dropped_called_again_and_restarted(lab: LabFactory, word: str) -> None:
    require(word)
    vpn, pair = driver(word), lab()
    bring_up(vpn, pair)
    peer = vpn.inner(pair.b).ip
    with Probe(pair.a) as a, captured_on(pair.a) as capture:
        dropping(vpn).drop(pair.path)
        assert silent(a, peer)
        capture.packets()
        resuming(vpn).resume(pair.path)
        assert any(vpn.is_handshake(each) for each in capture.packets())
        assert pings_of(a, peer) == 1
        vpn.crash(pair.a)
        vpn.join(pair.a)
        vpn.reach(pair.path)
        assert pings_of(a, peer) == 1
        if vpn.name == "strongswan":
            capture.packets()
            rekeying(vpn).rekey(pair.path)
            assert any(vpn.is_handshake(each) for each in capture.packets())
            assert pings_of(a, peer) == 1
    vpn.stop(pair)


@pytest.mark.parametrize(
    ("word", "payload"),
    [
        ("wireguard/kernel", 1392),
        ("strongswan/esp-aes128cbc-sha256+kernel", 1410),
        ("strongswan/esp-aes256gcm+kernel", 1418),
    ],
)
def test_the_maximum_is_that_of_dekker2020s_table_3(word: str, payload: int) -> None:
    require(word)
    finding = quiet(lambda: execute(driver(word), "udp"))
    assert value(finding, "packet_size_bytes") - 28 == payload


@pytest.mark.parametrize(
    "word",
    [
        "strongswan/esp-aes256gcm+kernel",
        "wireguard/kernel",
        "gre/esp-aes256gcm",
    ],
)
def test_on_a_wire(word: str) -> None:
    require(word)
    spec = LabSpec(link=LinkSpec(kind="wire"))
    finding = quiet(lambda: execute(driver(word), "rtt_slow", spec))
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.parametrize(
    "word", ["strongswan/esp-aes256gcm+kernel", "xfrm/esp-aes256gcm", "gre/esp-aes128gcm"]
)
def test_through_a_router(word: str) -> None:
    require(word)
    spec = LabSpec(topology=routed(), link=LinkSpec())
    finding = quiet(lambda: execute(driver(word), "rtt_slow", spec))
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.parametrize(
    "word", ["strongswan/esp-aes256gcm+kernel+transport", "xfrm/ah-sha256", "xfrm/ah-sha256+route"]
)
def test_nothing_leaves_in_the_clear_while_it_is_down(lab: LabFactory, word: str) -> None:
    require(word)
    vpn, pair = driver(word), lab()
    bring_up(vpn, pair)
    vpn.leave(pair.a)
    with captured_on(pair.a) as capture, Probe(pair.a) as a:
        assert silent(a, vpn.inner(pair.b).ip)
        assert [packet for packet in capture.packets() if packet.outgoing] == []
    vpn.stop(pair)
