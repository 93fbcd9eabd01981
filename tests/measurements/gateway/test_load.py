"""Many clients of one gateway: what is refused, what is counted, and who is named."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import pytest
from pydantic import ValidationError

from culvert.errors import NotPossible
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.measurements.gateway import figures, load, proof
from culvert.measurements.gateway.ceiling import NearLink
from culvert.measurements.gateway.crowd import CrowdTrial
from culvert.measurements.gateway.figures import at, slowest_share
from culvert.measurements.gateway.load import GatewayLoad, GatewayLoadParameters
from culvert.measurements.udp.losses import Losses
from culvert.proof.limits import GENERATOR
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.runid import new_run_id
from culvert.topology.graph import Path, Role
from culvert.topology.ip import IpVersion
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.trial.watch import Watched
from culvert.vpns.base import Vpn
from culvert.vpns.wireguard.driver import WireGuard
from tests.checks import failed_check
from tests.quiet import quiet
from tests.run.cells import measure, value, vpn
from tests.vpns.tunnels import driver, skip_reason

STAR = LabSpec(topology=star(2))
PACED = {"clients": 4, "rate": "100/s", "packet_size": 200, "duration": "500ms"}


def parameters(**written: object) -> GatewayLoadParameters:
    return GatewayLoadParameters.model_validate(written)


def test_a_slowest_client_is_compared_with_an_equal_share() -> None:
    assert slowest_share([5.0, 5.0]) == 1.0
    assert slowest_share([1.0, 3.0]) == 0.5
    assert slowest_share([0.0, 3.0]) == 0.0
    assert slowest_share([0.0, 0.0]) == 0.0


def test_quantiles_of_few_clients_are_between_them() -> None:
    assert [at(quantile, [7.0]) for quantile in (0, 0.5, 1)] == [7, 7, 7]
    assert [at(quantile, [1.0, 3.0]) for quantile in (0, 0.25, 0.5, 1)] == [1, 1.5, 2, 3]
    assert at(0.95, [float(number) for number in range(101)]) == pytest.approx(95)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ({"on": "1s", "rate": "10/s"}, "belong together"),
        ({"on": "1s", "off": "1s"}, "need a rate"),
        ({"protocol": "tcp", "rate": "10/s"}, "congestion control"),
        ({"clients": 1, "direction": "between"}, "no other"),
        ({"clients": 0}, "greater than or equal to 1"),
        ({"clients": 1001}, "less than or equal to 1000"),
        ({"active": "0%"}, "greater than 0"),
        ({"direction": "between", "to": "behind"}, "to each other, or to a host"),
    ],
)
def test_contradictory_parameters_are_refused(written: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        parameters(**written)


def test_the_star_has_as_many_clients_as_the_parameters_state() -> None:
    topology = GatewayLoad.lab(STAR, parameters(clients=5)).topology
    assert len(topology.members) == 6
    assert topology.paths == (Path("c1", "gateway"),)
    between = GatewayLoad.lab(STAR, parameters(clients=5, direction="between"))
    assert between.topology.paths == (Path("c1", "c2"),)


def test_a_host_behind_the_gateway_is_the_end_of_loads_and_shares_the_clients_cpus() -> None:
    spec = LabSpec(topology=star(2), cpus={"c1": (0,), "c2": (0,), "gateway": (1,)})
    found = GatewayLoad.lab(spec, parameters(clients=2, to="behind"))
    assert found.topology.paths == (Path("c1", "gateway"),)
    assert found.cpus == {"c1": (0,), "c2": (0,), "behind": (0,), "gateway": (1,)}
    assert "behind" not in {node.name for node in found.topology.members}


def test_a_host_behind_the_gateway_has_ipv4_only() -> None:
    with pytest.raises(NotPossible, match="IPv4 only"):
        GatewayLoad.lab(LabSpec(topology=star(2), underlay=IpVersion.V6), parameters(to="behind"))


def test_a_driver_without_routes_to_networks_behind_the_gateway_is_refused() -> None:
    lab = NetnsLab(new_run_id(), LabSpec(topology=star(1, behind=True)))
    with pytest.raises(NotPossible, match="does not support hosts behind the gateway"):
        vpn("ocserv/dtls").prepare(lab)


def test_links_and_cpus_of_clients_that_are_not_there_are_left_out() -> None:
    spec = LabSpec(
        topology=star(3),
        cpus={"c3": (0,), "gateway": (1,)},
        links={"c3-core": STAR.link, "gateway-core": STAR.link},
    )
    found = GatewayLoad.lab(spec, parameters(clients=1))
    assert found.cpus == {"gateway": (1,)}
    assert set(found.links) == {"gateway-core"}


def test_more_clients_share_the_cpus_of_the_others() -> None:
    spec = LabSpec(topology=star(2), cpus={"c1": (0,), "c2": (0,), "gateway": (1,)})
    found = GatewayLoad.lab(spec, parameters(clients=4))
    assert found.cpus == {**dict.fromkeys(("c1", "c2", "c3", "c4"), (0,)), "gateway": (1,)}


def test_a_lab_without_a_gateway_is_refused() -> None:
    with pytest.raises(NotPossible, match="has no gateway"):
        GatewayLoad.lab(LabSpec(), parameters())


@pytest.mark.lab
def test_paced_clients_get_their_rate_each() -> None:
    finding = quiet(lambda: measure(vpn("none"), GatewayLoad(), PACED, STAR))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "active_clients") == 4
    assert value(finding, "loss_ratio") == 0
    # Each client's rate is by its own time: a late packet changes it by some per cent.
    assert value(finding, "fairness") == pytest.approx(1, abs=1e-3)
    # The rate is 8 * 172 bytes of payload a packet.
    assert value(finding, "goodput_bps") == pytest.approx(4 * 100 * 8 * 172, rel=0.1)


@pytest.mark.lab
@pytest.mark.parametrize("direction", ["up", "down", "between"])
@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_each_direction_and_protocol_without_a_vpn(direction: str, protocol: str) -> None:
    given = {
        "clients": 4,
        "direction": direction,
        "protocol": protocol,
        "duration": "300ms",
        "warmup": "100ms",
    }
    finding = quiet(lambda: measure(vpn("none"), GatewayLoad(), given, STAR))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "active_clients") == (2 if direction == "between" else 4)
    assert value(finding, "goodput_bps") > 0


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize(
    "word",
    [
        *("none", "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes128gcm"),
        *("nebula/aes", "headscale/direct"),
    ],
)
def test_clients_send_to_a_host_behind_the_gateway(word: str) -> None:
    if lacks := skip_reason(word):
        pytest.skip(lacks)
    given = {**PACED, "clients": 2, "to": "behind"}
    finding = quiet(lambda: measure(vpn(word), GatewayLoad(), given, STAR))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "active_clients") == 2
    assert value(finding, "loss_ratio") == 0
    nodes = {node["name"] for node in finding.evidence.topology["nodes"]}
    assert "behind" in nodes


@pytest.mark.lab
def test_the_echo_requests_beside_the_load_go_to_the_host_behind_the_gateway() -> None:
    slow = LinkSpec("wire", impairment=Impairment(a_to_b=OneWay(delay_ns=30_000_000)))
    spec = LabSpec(topology=star(2, behind=True), links={"behind-gateway": slow})
    finding = quiet(lambda: measure(vpn("none"), GatewayLoad(), {**PACED, "to": "behind"}, spec))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "rtt_loaded_p50_us") > 30_000


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
def test_the_devices_of_all_server_processes_are_accounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if lacks := skip_reason("openvpn/aes-256-gcm"):
        pytest.skip(lacks)
    seen: list[str] = []

    def looking(session: Session, watched: Watched, trial: CrowdTrial) -> Losses:
        (gateway,) = session.lab.of_role(Role.GATEWAY)
        used = figures.gateway_accounted(session, watched)
        tunnels = session.vpn.interfaces(gateway)
        seen.extend(name for name in tunnels if (device := used.device(name)) and device.rx_packets)
        return figures.locate_losses(session, watched, trial)

    monkeypatch.setattr(load, "locate_losses", looking)
    two = vpn("openvpn/aes-256-gcm+processes-2")
    finding = quiet(lambda: measure(two, GatewayLoad(), PACED, STAR))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert len(set(seen)) == 2


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize(
    "word", ["wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes128gcm"]
)
def test_clients_send_to_each_other_through_the_gateway(word: str) -> None:
    if lacks := skip_reason(word):
        pytest.skip(lacks)
    given = {
        "clients": 4,
        "direction": "between",
        "protocol": "tcp",
        "duration": "300ms",
        "warmup": "100ms",
    }
    finding = quiet(lambda: measure(vpn(word), GatewayLoad(), given, STAR))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "active_clients") == 2
    names = [check.name for check in finding.evidence.checks]
    assert "bytes reconcile on the gateway's link" in names


@pytest.mark.lab
@pytest.mark.vpn
def test_echo_replies_between_clients_cross_the_gateways_link_too() -> None:
    if lacks := skip_reason("wireguard/go"):
        pytest.skip(lacks)
    given = {**PACED, "clients": 2, "rate": "20/s", "direction": "between", "duration": "1s"}
    finding = quiet(lambda: measure(vpn("wireguard/go"), GatewayLoad(), given, STAR))
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.lab
@pytest.mark.vpn
def test_clients_of_a_mesh_do_not_send_to_each_other_through_the_gateway() -> None:
    if lacks := skip_reason("nebula/aes"):
        pytest.skip(lacks)
    given = {**PACED, "direction": "between"}
    finding = measure(vpn("nebula/aes"), GatewayLoad(), given, STAR)
    assert finding.status is Status.UNSUPPORTED
    assert "do not go through the gateway" in finding.reason


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.slow
def test_the_gateway_alone_is_accounted_and_every_client_proved() -> None:
    if lacks := skip_reason("wireguard/go"):
        pytest.skip(lacks)
    given = {**PACED, "active": "50%", "packet_size": "imix", "on": "50ms", "off": "50ms"}
    finding = quiet(lambda: measure(vpn("wireguard/go"), GatewayLoad(), given, STAR))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "active_clients") == 2
    assert value(finding, "connected_clients") == 4
    assert value(finding, "gateway_memory_bytes") > 1 << 20
    assert value(finding, "gateway_sockets") > 0
    assert value(finding, "clients_cpu_s") > 0
    assert 0 < value(finding, "generators_cpu_share") <= 1
    names = [check.name for check in finding.evidence.checks]
    assert "every client's canary" in names
    assert "bytes reconcile on each client's link" in names
    assert "no clear text on the underlay (at core, from all clients)" in names


def leak(vpn: Vpn, client: Node) -> None:
    """The client's packets leave beside its tunnel from now on."""
    core = next(
        end.address.ip
        for end in vpn.lab.attachments("core")
        if end.address.network == client.underlay.address.network
    )
    gateway = IPv4Network(f"{vpn.inner(vpn.lab.nodes['gateway']).ip}/32")
    client.add_route(gateway, gateway=core)


class Leaking(WireGuard):
    """The packets of one client leave beside its tunnel."""

    def connect(self, source: Node) -> None:
        super().connect(source)
        if source.name == "c3":
            leak(self, source)


@pytest.mark.lab
@pytest.mark.vpn
def test_one_client_of_many_that_leaks_is_named() -> None:
    if lacks := skip_reason("wireguard/go"):
        pytest.skip(lacks)

    def leaking() -> TrialFinding:
        given = {**PACED, "clients": 24}
        return measure(Leaking(driver("wireguard/go").variant), GatewayLoad(), given, STAR)

    finding = quiet(leaking)
    assert finding.status is Status.INVALID
    assert failed_check(finding).name == "every client's canary"
    assert failed_check(finding).detail == "packets left outside the tunnel at c3"


@pytest.mark.lab
@pytest.mark.vpn
def test_a_client_that_leaks_in_the_load_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    if lacks := skip_reason("wireguard/go"):
        pytest.skip(lacks)
    before = proof.every_canary

    def canary_then_leak(session: Session, *rest: Any) -> Check:
        check = before(session, *rest)
        leak(session.vpn, session.lab.nodes["c3"])
        return check

    monkeypatch.setattr(proof, "every_canary", canary_then_leak)
    finding = quiet(lambda: measure(vpn("wireguard/go"), GatewayLoad(), PACED, STAR))
    assert finding.status is Status.INVALID
    assert "; of c3" in finding.reason


@pytest.mark.lab
@pytest.mark.vpn
def test_a_load_that_its_generators_limit_is_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    if lacks := skip_reason("wireguard/go"):
        pytest.skip(lacks)
    given = {"clients": 4, "protocol": "tcp", "duration": "300ms", "warmup": "100ms"}
    slow = NearLink(goodput_bps=1e3)  # as if the generators reached no more on the bare links
    monkeypatch.setattr("culvert.measurements.gateway.load.near_link", lambda *_: slow)
    finding = measure(vpn("wireguard/go"), GatewayLoad(), given, STAR)
    assert finding.status is Status.INVALID
    assert GENERATOR in finding.reason
