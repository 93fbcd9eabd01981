from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert import tools
from culvert.errors import NotPossible, VpnError
from culvert.labs.base import Lab
from culvert.labs.link import offloads
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.node import NetnsNode
from culvert.runid import new_run_id
from culvert.topology.graph import Path as Way
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.contract.observe import captured_on, pings_answered
from culvert.vpns.lifecycle import bring_up
from culvert.vpns.outer import OuterPacket
from culvert.vpns.variant import DataPath
from culvert.vpns.wireguard import driver as driver_module
from culvert.vpns.wireguard.control import ControlSocket
from culvert.vpns.wireguard.device import CURRENT, DISTRIBUTIONS
from culvert.vpns.wireguard.driver import WireGuard
from culvert.vpns.wireguard.variants import DEVICE, PORT, PROGRAMS
from tests.here import HERE

from .tunnels import planned

VARIANTS = ["go", "go-debian"]


def driver(variant: str = "go") -> WireGuard:
    vpn = registry.create(registry.parse(f"wireguard/{variant}"))
    assert isinstance(vpn, WireGuard)
    return vpn


@pytest.fixture(params=VARIANTS)
def vpn(request: pytest.FixtureRequest) -> WireGuard:
    made = driver(request.param)
    if lacks := made.missing(HERE):
        pytest.skip(f"{lacks[0].what}: {lacks[0].remedy}")
    return made


@pytest.fixture
def pair() -> Iterator[Lab]:
    with NetnsLab(new_run_id(), LabSpec()) as lab:
        yield lab


# -- pure ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inner", "outer"),
    [(28, 92), (64, 124), (65, 140), (512, 572), (1024, 1084), (1408, 1468), (1409, 1480)],
)
def test_outer_lengths_are_exact(inner: int, outer: int) -> None:
    assert planned("wireguard/go").outer_length(inner) == outer


@given(inner=st.integers(20, 1420))
def test_padding_is_to_sixteen_and_never_beyond_the_mtu(inner: int) -> None:
    outer = planned("wireguard/go").outer_length(inner)
    assert outer is not None
    padding = outer - 60 - inner
    assert 0 <= padding < 16
    assert (inner + padding) % 16 == 0 or inner + padding == 1420


def packet(payload: bytes) -> OuterPacket:
    return OuterPacket(0, True, 17, 40000, PORT, 28 + len(payload), payload)


@pytest.mark.parametrize(("kind", "expected"), [(1, True), (2, True), (3, True), (4, False)])
def test_handshake_messages_are_recognised(kind: int, expected: bool) -> None:
    assert driver().is_handshake(packet(bytes([kind, 0, 0, 0]) + b"x" * 60)) is expected


@given(payload=st.binary(max_size=8))
def test_any_payload_has_an_answer(payload: bytes) -> None:
    known = payload[:4] in (b"\1\0\0\0", b"\2\0\0\0", b"\3\0\0\0")
    assert driver().is_handshake(packet(payload)) is known


def test_keys_never_show(tmp_path: Path) -> None:
    assert "X25519PrivateKey" not in repr(driver())
    assert "private" not in repr(driver()).lower()


# -- programs --------------------------------------------------------------------------------------


def test_what_is_missing_has_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    lacks = driver().missing(HERE)
    assert [lack.remedy for lack in lacks] == ["culvert install wireguard/go"]
    with pytest.raises(NotPossible):
        driver().version(HERE)


def test_the_distributions_program_does_not_pass_for_the_current_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = tmp_path / "wireguard-go"
    old.write_text("#!/bin/sh\n")
    old.chmod(0o755)
    monkeypatch.setitem(PROGRAMS, "go-debian", replace(DISTRIBUTIONS, path=str(old)))
    monkeypatch.setattr(driver_module, "CURRENT", replace(CURRENT, but=str(old)))
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tools.find("wireguard-go") == old
    assert driver("go").missing(HERE) != []
    assert driver("go-debian").missing(HERE) == []


@pytest.mark.vpn
def test_version_names_program_and_compiler(vpn: WireGuard) -> None:
    version = vpn.version(HERE)
    assert "(go1." in version
    if vpn.variant.name == "go":
        assert version.startswith("v0.0.0-2026")
    else:
        assert "20220316" in version


def test_without_offloads_takes_ethtool_and_a_version_that_has_offloads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nogso = registry.create(registry.parse("wireguard/go+nogso"))
    assert nogso.variant.facts["segmentation offload"] == "off (wg0)"
    monkeypatch.setattr(tools, "find", lambda _: None)
    assert ("ethtool", "culvert install wireguard/go+nogso") in [
        (lack.what, lack.remedy) for lack in nogso.missing(HERE)
    ]
    debian = registry.create(registry.parse("wireguard/go-debian+nogso"))
    assert "leave +nogso out" in [lack.remedy for lack in debian.missing(HERE)]


# -- on a lab --------------------------------------------------------------------------------------


@pytest.mark.lab
@pytest.mark.vpn
def test_up_means_that_the_handshake_is_complete(vpn: WireGuard, pair: Lab) -> None:
    vpn.prepare(pair)
    vpn.join(pair.b)
    with captured_on(pair.a) as capture:
        vpn.reach(pair.path)
        seen = [packet for packet in capture.packets() if packet.protocol == 17]
        assert [packet.length for packet in seen if packet.outgoing][:1] == [148 + 28]
        assert [packet.length for packet in seen if not packet.outgoing][:1] == [92 + 28]
        assert [packet.outgoing for packet in seen if vpn.is_handshake(packet)] == [True, False]
    assert vpn.control.peer(pair.a, vpn._keys.public(pair.b.name)[1]).last_handshake_ns > 0
    assert vpn.determine_data_path(pair.a) is DataPath.USER
    vpn.stop(pair)
    assert pair.a.link(DEVICE) is None
    assert isinstance(vpn.control, ControlSocket)
    assert not pair.a.exists(vpn.control.path)


@pytest.mark.lab
@pytest.mark.vpn
def test_on_a_mesh_each_path_has_a_tunnel(vpn: WireGuard) -> None:
    paths = (Way("a", "b"), Way("a", "c"), Way("b", "c"))
    with NetnsLab(new_run_id(), LabSpec(topology=mesh(3, paths=paths))) as lab:
        vpn.prepare(lab)
        bring_up(vpn)
        for path in paths:
            source, target = lab.ends(path)
            assert pings_answered(source, vpn.inner(target).ip, length=100) == 1
            assert pings_answered(target, vpn.inner(source).ip, length=100) == 1
        vpn.stop(lab)
        assert all(node.link(DEVICE) is None for node in lab.members)


@pytest.mark.lab
@pytest.mark.vpn
def test_one_byte_more_than_the_mtu_does_not_fit(vpn: WireGuard, pair: Lab) -> None:
    vpn.prepare(pair)
    vpn.join(pair.b)
    vpn.reach(pair.path)
    peer = vpn.inner(pair.b).ip
    link = pair.a.link(DEVICE)
    assert link is not None
    assert link.mtu == 1420
    assert pings_answered(pair.a, peer, length=1420) == 1
    assert pings_answered(pair.a, peer, length=1421) == 0
    vpn.stop(pair)


@pytest.mark.lab
@pytest.mark.vpn
def test_without_offloads_the_tunnel_is_handed_single_packets(pair: Lab) -> None:
    vpn = registry.create(registry.parse("wireguard/go+nogso"))
    if lacks := vpn.missing(HERE):
        pytest.skip(f"{lacks[0].what}: {lacks[0].remedy}")
    vpn.prepare(pair)
    vpn.join(pair.b)
    vpn.reach(pair.path)
    for node in (pair.a, pair.b):
        assert isinstance(node, NetnsNode)
        features = node.inside(lambda: offloads.read(DEVICE))
        on = {name for name, is_on in features.items() if is_on}
        assert not on & {"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-udp-segmentation"}
    vpn.stop(pair)


@pytest.mark.lab
@pytest.mark.vpn
def test_the_key_file_is_secret(vpn: WireGuard, pair: Lab) -> None:
    vpn.prepare(pair)
    for node in (pair.a, pair.b):
        assert stat.S_IMODE((node.directory / "wireguard/private.key").stat().st_mode) == 0o600


@pytest.mark.lab
@pytest.mark.vpn
def test_a_port_in_use_is_a_clear_error(vpn: WireGuard, pair: Lab) -> None:
    squat = (
        "import socket, sys; s = socket.socket(type=socket.SOCK_DGRAM);"
        f"s.bind(('', {PORT})); print('bound', flush=True); sys.stdin.read()"
    )
    squatter = pair.b.spawn([sys.executable, "-c", squat], name="squatter", pipes=True)
    assert squatter.stdout.readline() == b"bound\n"
    vpn.prepare(pair)
    with pytest.raises(VpnError, match="UDP port 51820: refused: Address already in use") as caught:
        vpn.join(pair.b)
    assert "stop the program that uses the UDP port" in caught.value.remedy
    vpn.stop(pair)


@pytest.mark.lab
@pytest.mark.vpn
def test_an_interface_in_use_is_a_clear_error(vpn: WireGuard, pair: Lab) -> None:
    pair.b.add_link(DEVICE, "vxlan", vxlan_id=1, vxlan_port=4789)
    vpn.prepare(pair)
    with pytest.raises(VpnError, match=r"its log ends: .*Failed to create TUN device"):
        vpn.join(pair.b)
    vpn.stop(pair)


@pytest.mark.lab
@pytest.mark.vpn
def test_a_program_that_dies_at_start_is_quoted(
    vpn: WireGuard, pair: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dying = tmp_path / "wireguard-go"
    dying.write_text("#!/bin/sh\necho cannot open /dev/net/tun >&2\nexit 3\n")
    dying.chmod(0o755)
    vpn._wireguard = replace(vpn._wireguard, path=str(dying))
    vpn.prepare(pair)
    with pytest.raises(VpnError, match=r"code 3.*cannot open /dev/net/tun"):
        vpn.join(pair.b)


@pytest.mark.lab
@pytest.mark.vpn
def test_without_a_responder_it_says_what_was_seen(
    vpn: WireGuard, pair: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WireGuard, "up_deadline_s", 0.3)
    vpn.prepare(pair)
    with pytest.raises(VpnError, match="148 bytes sent to the peer, 0 received"):
        vpn.reach(pair.path)
    vpn.stop(pair)


@pytest.mark.lab
@pytest.mark.vpn
def test_a_smaller_underlay_makes_a_smaller_tunnel(vpn: WireGuard) -> None:
    spec = replace(LabSpec(), link=LinkSpec(mtu=1300))
    with NetnsLab(new_run_id(), spec) as lab:
        vpn.prepare(lab)
        vpn.join(lab.b)
        link = lab.b.link(DEVICE)
        assert link is not None
        assert link.mtu == 1220
        assert vpn.outer_length(1220) == 1280
