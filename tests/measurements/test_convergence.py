"""Members that join at once: pairs talk and have routes, and the rest is control traffic."""

from __future__ import annotations

import threading

import pytest

from culvert.errors import VpnError
from culvert.labs.node import Node
from culvert.measurements.mesh.convergence import Convergence
from culvert.results import Status
from culvert.topology.graph import Path
from culvert.topology.shapes import GATEWAY, mesh, star
from culvert.topology.spec import LabSpec
from culvert.vpns.variant import DIRECT, Route
from culvert.vpns.wireguard.driver import WireGuard
from tests.checks import failed_check
from tests.run.cells import by_node, measure, value, vpn
from tests.vpns.tunnels import skip_reason

pytestmark = pytest.mark.lab
needs_wireguard = pytest.mark.skipif(
    bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go")
)
CLIENTS = 4
STAR = LabSpec(topology=star(CLIENTS))
HANDSHAKE_BYTES = 20 + 8 + 148 + 20 + 8 + 92
"""Initiation and response, of one client."""


def test_all_pairs_of_a_mesh_talk_without_a_vpn() -> None:
    finding = measure(vpn("none"), Convergence(), {}, LabSpec(topology=mesh(4)))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert (value(finding, "members"), value(finding, "pairs")) == (4, 6)
    assert value(finding, "direct_pairs") == 6
    assert 0 < value(finding, "exchanged_p50_s") <= value(finding, "exchanged_s")
    assert value(finding, "exchanged_s") <= value(finding, "routed_s")
    assert value(finding, "member_control_bytes") == 0
    assert value(finding, "member_link_bytes") >= 3 * 2 * 64


@pytest.mark.vpn
@needs_wireguard
def test_clients_of_a_gateway_join_at_once() -> None:
    finding = measure(vpn("wireguard/go"), Convergence(), {}, STAR)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert (value(finding, "members"), value(finding, "pairs")) == (CLIENTS + 1, CLIENTS)
    assert value(finding, "direct_pairs") == CLIENTS
    assert 0 < value(finding, "joined_s") <= value(finding, "routed_s")
    control = by_node(finding, "member_control_bytes")
    assert control.keys() == {"c1", "c2", "c3", "c4", GATEWAY}
    # A repeated handshake, or a keepalive, is control traffic as well.
    assert control[GATEWAY] >= CLIENTS * HANDSHAKE_BYTES
    assert all(HANDSHAKE_BYTES <= control[f"c{n}"] <= 4 * HANDSHAKE_BYTES for n in range(1, 5))
    assert value(finding, "member_memory_bytes") > 1_000_000


class Watched(WireGuard):
    """Records how many clients were connecting at the same time."""

    def __init__(self) -> None:
        super().__init__(WireGuard.variants[0])
        self.together = threading.Barrier(CLIENTS, timeout=10)

    def connect(self, source: Node) -> None:
        self.together.wait()
        super().connect(source)


@pytest.mark.vpn
@needs_wireguard
def test_members_really_join_at_once() -> None:
    finding = measure(Watched(), Convergence(), {}, STAR)
    assert (finding.status, finding.reason) == (Status.OK, "")


class ClaimsRelay(WireGuard):
    """Every pair is claimed to be relayed, and none is."""

    def route(self, path: Path) -> Route:
        return Route("c4") if path.source == "c2" else DIRECT


@pytest.mark.vpn
@needs_wireguard
def test_a_pair_that_never_has_its_route_is_named() -> None:
    driver = ClaimsRelay(WireGuard.variants[0])
    finding = measure(driver, Convergence(), {"route_max": "300ms"}, STAR)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == "every pair has its route"
    assert "1 pairs have another route" in finding.reason
    assert "c2>gateway: direct instead of relayed through c4" in finding.reason


class Mute(WireGuard):
    """One client does not encrypt for anybody: its handshake is removed as soon as it was made."""

    def connect(self, source: Node) -> None:
        super().connect(source)
        if source.name == "c3":
            self.control.configure(
                source, [self._keys.public(self.target.name), ("remove", "true")]
            )


@pytest.mark.vpn
@needs_wireguard
def test_a_pair_that_never_talks_is_named() -> None:
    finding = measure(Mute(WireGuard.variants[0]), Convergence(), {"exchange_max": "500ms"}, STAR)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == "every pair exchanged a packet"
    assert "3 of 4 pairs" in finding.reason
    assert "c3>gateway" in finding.reason


class Refuses(WireGuard):
    def connect(self, source: Node) -> None:
        if source.name == "c2":
            raise VpnError(self.id, f"{source.name} was refused", "allow it")
        super().connect(source)


@pytest.mark.vpn
@needs_wireguard
def test_a_member_that_cannot_join_fails_the_trial() -> None:
    finding = measure(Refuses(WireGuard.variants[0]), Convergence(), {}, STAR)
    assert (finding.status, finding.remedy) == (Status.FAILED, "allow it")
    assert "c2 was refused" in finding.reason


def test_one_path_is_named() -> None:
    spec = LabSpec(topology=star(2, every_path=True))
    finding = measure(vpn("none"), Convergence(), {}, spec)
    assert finding.status is Status.UNSUPPORTED
    assert finding.remedy == "name one path in [lab]"
