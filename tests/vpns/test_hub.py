"""Client to client through the gateway: counted and clear inside it, ciphertext outside."""

from __future__ import annotations

import pytest

from culvert.errors import NotPossible
from culvert.journal.marks import SEARCHED
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.tunnel.reconnect import Reconnect
from culvert.proof.route import ALL_BUT
from culvert.results import Status
from culvert.runid import new_run_id
from culvert.topology.graph import Path
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import GATEWAY, mesh, star
from culvert.topology.spec import LabSpec
from culvert.vpns.variant import DIRECT, Route
from culvert.vpns.wireguard.driver import WireGuard
from tests.checks import failed_check
from tests.run.cells import execute, measure, value, vpn

from ..conftest import LabFactory
from .rounds import faults_of_rounds
from .tunnels import bring_up, driver, skip_reason

WIREGUARD = "wireguard/go"
pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(skip_reason(WIREGUARD)), reason=skip_reason(WIREGUARD)),
]
BETWEEN = Path("c1", "c2")
HUB = LabSpec(topology=star(2, paths=[BETWEEN]), link=LinkSpec(rate_bps=30_000_000_000))
"""Of a rate that nothing here reaches, so that no ceiling is measured for TCP."""
_REDIRECTS = "net/ipv4/conf/all/send_redirects"
_GENERAL = ("net/ipv4/ip_forward", "net/ipv4/conf/all/accept_redirects")


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        (WIREGUARD, "tcp"),
        (WIREGUARD, "rtt"),
        ("openvpn/aes-256-gcm", "rtt"),
        ("strongswan/esp-aes256gcm", "rtt"),
    ],
)
def test_a_path_between_clients_is_proved_at_the_gateway(word: str, kind: str) -> None:
    if lacks := skip_reason(word):
        pytest.skip(lacks)
    finding = execute(vpn(word), kind, HUB)
    assert (finding.status, finding.reason) == (Status.OK, "")
    checks = {check.name: check for check in finding.evidence.checks}
    for when in ("start", "end"):
        route = checks[f"the path's route at the {when}"]
        assert "c1>c2: relayed through gateway, which decrypts; " in route.detail
    counted = checks[f"packets through {GATEWAY}"].figures
    assert counted["crossed"] >= (1 - ALL_BUT) * counted["sent"] > 0
    assert checks[f"no clear text on the underlay (at {GATEWAY})"].figures[SEARCHED] > 0
    assert checks[f"clear inside {GATEWAY}"].figures["canary_hits"] > 0
    assert "no end-to-end encryption" in checks[f"clear inside {GATEWAY}"].detail


def test_both_kinds_of_paths_are_measured_on_one_star() -> None:
    paths = [Path("c1", GATEWAY), BETWEEN]
    finding = execute(vpn(WIREGUARD), "rtt", LabSpec(topology=star(3, paths=paths)))
    assert (finding.status, finding.reason) == (Status.OK, "")
    routes = {
        check.name: check.figures["found"]
        for check in finding.evidence.checks
        if check.name.startswith("the path's route at the end")
    }
    assert routes == {
        "the path's route at the end (c1>gateway)": "direct",
        "the path's route at the end (c1>c2)": "relayed through gateway, which decrypts",
    }


@pytest.mark.parametrize("event", ["restart-peer", "restart-self"])
def test_either_client_comes_back_after_a_restart(event: str) -> None:
    finding = measure(vpn(WIREGUARD), Reconnect(), {"event": event}, HUB)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "recovered_ms") > 0


def test_a_cold_start_of_a_path_between_clients() -> None:
    finding = execute(vpn(WIREGUARD), "initiation", HUB)
    assert (finding.status, finding.reason) == (Status.OK, "")


class Forgetful(WireGuard):
    def __init__(self) -> None:
        super().__init__(WireGuard.variants[0])

    def forward(self, device: str) -> None:
        """The user forgot the setting."""


def test_a_gateway_that_does_not_forward_is_no_hub() -> None:
    finding = execute(Forgetful(), "rtt", HUB)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == "the tunnel carries packets"
    assert failed_check(finding).detail.startswith("0 of ")


class ClaimsDirect(WireGuard):
    def route(self, path: Path) -> Route:
        return DIRECT

    @property
    def is_hub(self) -> bool:
        return True


def test_a_path_that_claims_to_be_direct_is_invalid() -> None:
    finding = execute(ClaimsDirect(WireGuard.variants[0]), "rtt", HUB)
    assert finding.status is Status.INVALID
    assert "relayed through gateway, which decrypts; wireguard/go claims direct" in finding.reason


def test_a_direct_report_is_contradicted_by_the_packets_at_the_gateway() -> None:
    class ReportsDirect(ClaimsDirect):
        def determine_route(self, path: Path) -> Route:
            return DIRECT

    finding = execute(ReportsDirect(WireGuard.variants[0]), "tcp", HUB)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == f"the canary's bytes at {GATEWAY}"


def test_only_the_tunnels_device_forwards_and_the_gateways_settings_are_restored(
    lab: LabFactory,
) -> None:
    made, hub = lab(HUB), driver(WIREGUARD)
    gateway = made.nodes[GATEWAY]
    device = gateway.underlay.device

    def general() -> list[str]:
        return [gateway.sysctl(name) for name in (*_GENERAL, f"net/ipv4/conf/{device}/forwarding")]

    before = general()
    assert gateway.sysctl(_REDIRECTS) == "1"
    bring_up(hub, made)
    assert gateway.sysctl(f"net/ipv4/conf/{hub.interface(gateway)}/forwarding") == "1"
    assert gateway.sysctl(_REDIRECTS) == "0"
    assert general() == before
    assert before[0] == "0"
    hub.stop(made)
    assert gateway.sysctl(_REDIRECTS) == "1"
    assert general() == before


def test_a_vpn_that_does_not_forward_is_unsupported() -> None:
    with pytest.raises(NotPossible, match="does not forward packets from one client") as refused:
        vpn("ocserv/dtls").prepare(NetnsLab(new_run_id(), HUB))
    assert refused.value.remedy == "measure a client's path to the gateway"


def test_a_path_beside_the_tunnels_is_unsupported() -> None:
    spec = LabSpec(topology=mesh(3, paths=[Path("a", "b"), Path("a", "c")]))
    finding = execute(vpn("openvpn/aes-256-gcm"), "rtt", spec)
    assert finding.status is Status.UNSUPPORTED
    assert "the path a>c is not between them" in finding.reason


def test_wireguard_has_a_tunnel_for_each_path_of_a_mesh() -> None:
    spec = LabSpec(topology=mesh(3, paths=[Path("a", "b"), Path("a", "c")]))
    finding = execute(vpn(WIREGUARD), "rtt", spec)
    assert (finding.status, finding.reason) == (Status.OK, "")


def test_the_baseline_needs_no_gateway() -> None:
    finding = execute(vpn("none"), "rtt", HUB)
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.long
def test_ten_rounds_of_a_hub_leave_nothing() -> None:
    assert faults_of_rounds(WIREGUARD, HUB.topology) == []
