"""Nebula: its packets, its configuration, and its meshes, direct and through a relay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import UsageError
from culvert.journal.marks import SEARCHED
from culvert.measurements.acl.acl import Acl
from culvert.measurements.mesh.convergence import Convergence
from culvert.proof.canary import CANARY_PACKETS
from culvert.proof.route import ALL_BUT
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.topology.graph import SERVERS, Path, Role
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, serving
from culvert.topology.spec import LabSpec
from culvert.vpns.contract.observe import pings_answered
from culvert.vpns.lifecycle import bring_up
from culvert.vpns.nebula.certificates import CERTIFICATE
from culvert.vpns.nebula.driver import Nebula
from culvert.vpns.nebula.packet import is_handshake, outer_length
from culvert.vpns.outer import OuterPacket
from culvert.vpns.variant import DIRECT, Route
from tests.checks import failed_check
from tests.run.cells import execute, measure, value

from ..conftest import LabFactory
from .tunnels import driver, skip_reason

RELAY = Route("relay")
HANDSHAKE, MESSAGE, RELAYED = b"\x10\x00", b"\x11\x00", b"\x11\x01"
"""Version 1 and the type, and the subtype."""
real = pytest.mark.skipif(bool(skip_reason("nebula/aes")), reason=skip_reason("nebula/aes"))


def nebula(text: str) -> Nebula:
    vpn = driver(text)
    assert isinstance(vpn, Nebula)
    return vpn


def packet(payload: bytes) -> OuterPacket:
    return OuterPacket(0, True, 17, 4242, 4242, 28 + len(payload), payload)


def header(start: bytes) -> bytes:
    return start + b"\0\0" + b"\x12" * 12


@given(st.binary(max_size=64))
def test_a_handshake_is_one_through_a_relay_too(rest: bytes) -> None:
    for start, expected in ((HANDSHAKE, True), (MESSAGE, False), (b"\x13\x00", False)):
        assert is_handshake(packet(header(start) + rest)) is expected
        assert is_handshake(packet(header(RELAYED) + header(start) + rest)) is expected


@given(st.binary(max_size=15))
def test_a_punch_is_no_handshake(payload: bytes) -> None:
    assert not is_handshake(packet(payload))
    assert not is_handshake(packet(header(RELAYED) + payload))


@given(st.integers(28, 9000))
def test_a_relay_adds_a_header_and_a_tag(inner: int) -> None:
    direct = outer_length(inner, relayed=False)
    assert direct == inner + 20 + 8 + 16 + 16
    assert outer_length(inner, relayed=True) == direct + 32


def test_only_what_has_a_relay_needs_one() -> None:
    needs = {text: driver(text).needs for text in ("nebula/aes", "nebula/chacha", "nebula/relay")}
    assert needs == {
        "nebula/aes": (Role.CONTROL,),
        "nebula/chacha": (Role.CONTROL,),
        "nebula/relay": (Role.CONTROL, Role.RELAY),
    }
    assert driver("nebula/chacha+fallback").needs == (Role.CONTROL, Role.RELAY)
    with pytest.raises(UsageError, match="never has a direct path"):
        driver("nebula/relay+fallback")


MESH = LabSpec(topology=mesh(2), link=LinkSpec(rate_bps=30_000_000_000))
"""Of a rate that nothing here reaches, so that no ceiling is measured for TCP."""


def through_the_relay(finding: TrialFinding) -> dict[str, Any]:
    (counted,) = [c for c in finding.evidence.checks if c.name == "packets through relay"]
    return dict(counted.figures)


@real
@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("kind", ["tcp", "initiation"])
def test_every_packet_of_a_relayed_trial_crosses_the_relay(kind: str) -> None:
    finding = execute(driver("nebula/relay"), kind, MESH)
    assert (finding.status, finding.reason) == (Status.OK, "")
    if kind == "initiation":
        return
    checks = {check.name: check for check in finding.evidence.checks}
    counted = through_the_relay(finding)
    assert counted["relayed"]
    assert counted["crossed"] >= (1 - ALL_BUT) * counted["sent"] > 0
    readable = checks["no clear text on the underlay (at relay)"]
    assert readable.passed
    assert dict(readable.figures)[SEARCHED] >= 4 * CANARY_PACKETS  # both ways, in and out
    for when in ("start", "end"):
        assert dict(checks[f"the path's route at the {when}"].figures)["found"] == str(RELAY)


@real
@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("text", ["nebula/aes+fallback", "nebula/chacha+fallback"])
def test_no_packet_of_a_direct_trial_crosses_a_relay_at_hand(text: str) -> None:
    finding = execute(driver(text), "tcp", MESH)
    assert (finding.status, finding.reason) == (Status.OK, "")
    counted = through_the_relay(finding)
    assert (counted["relayed"], counted["crossed"]) == (False, 0)
    assert counted["sent"] > 0


class PretendsRelay(Nebula):
    """Claims and reports a relay that no packet crosses."""

    def route(self, path: Path) -> Route:
        return RELAY

    def determine_route(self, path: Path) -> Route:
        return RELAY


@real
@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("text", ["nebula/relay", "nebula/aes+fallback"])
def test_members_that_join_are_relayed_only_if_their_packets_are(text: str) -> None:
    vpn = nebula(text)
    if vpn.claims_direct:
        vpn = PretendsRelay(vpn.variant, vpn.chosen)
    finding = measure(vpn, Convergence(), {}, LabSpec(topology=mesh(3)))
    if not vpn.claims_direct:
        assert (finding.status, finding.reason) == (Status.OK, "")
        assert "no packet went from member to member" in {c.name for c in finding.evidence.checks}
    else:
        assert finding.status is Status.INVALID
        assert failed_check(finding).name == "no packet went from member to member"
        assert failed_check(finding).detail.startswith("3 members sent")


@real
@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize(("text", "route"), [("nebula/aes", DIRECT), ("nebula/relay", RELAY)])
def test_a_mesh_of_three(lab: LabFactory, text: str, route: Route) -> None:
    vpn = nebula(text)
    made = lab(LabSpec(topology=serving(mesh(3), vpn.needs)))
    vpn.prepare(made)
    bring_up(vpn)
    for source in made.members:
        for target in made.members:
            if source.name != target.name:
                # The first packet makes a tunnel, and a relayed one takes more than one ping.
                vpn.reach(path := Path(source.name, target.name))
                assert vpn.determine_route(path) == route
    inner = {node.name: vpn.inner(node).ip for node in (*made.members, *made.of_role(*SERVERS))}
    assert len(set(inner.values())) == len(inner)
    vpn.leave(made.a)
    assert pings_answered(made.b, inner["c"]) == 1
    vpn.stop(made)


@real
@pytest.mark.lab
@pytest.mark.vpn
def test_new_keys_by_a_new_certificate(lab: LabFactory) -> None:
    vpn = nebula("nebula/aes")
    made = lab(LabSpec(topology=serving(mesh(2), vpn.needs)))
    vpn.prepare(made)
    bring_up(vpn)
    certificate = made.a.directory / CERTIFICATE
    before = certificate.read_bytes()
    vpn.rekey(made.path)
    assert certificate.read_bytes() != before
    assert pings_answered(made.a, vpn.inner(made.b).ip) == 1
    assert vpn.determine_route(made.path) == DIRECT
    vpn.stop(made)


@pytest.mark.lab
@pytest.mark.vpn
@real
def test_a_policy_permits_and_forbids_what_it_states() -> None:
    finding = measure(nebula("nebula/aes"), Acl(), {"try": "300ms"}, LabSpec(topology=mesh(2)))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "permitted_share") == 1
    assert value(finding, "forbidden_share") == 0
