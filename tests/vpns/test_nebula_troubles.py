"""What can go wrong with a mesh: a clear status and reason in time, and nothing is left."""

from __future__ import annotations

import time
from typing import Any

import pytest

from culvert.errors import VpnError
from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.node import NetnsNode
from culvert.labs.node import Node
from culvert.labs.router.block import UdpBlock
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.rtt.rtt import Rtt
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.graph import Path, Role, Topology
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, routed, serving
from culvert.topology.spec import PAIR, LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.lifecycle import bring_up
from culvert.vpns.nebula.driver import Nebula
from culvert.waiting import wait_until
from tests.labs.host import left_of
from tests.run.cells import SHORT

from ..conftest import LabFactory
from .tunnels import driver, skip_reason

pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(skip_reason("nebula/aes")), reason=skip_reason("nebula/aes")),
]
DEADLINE_S = 3.0


class Hurried(Nebula):
    """It gives up sooner."""

    up_deadline_s = DEADLINE_S

    @classmethod
    def like(cls, word: str) -> Nebula:
        found = driver(word)
        return cls(next(v for v in cls.variants if v.name == found.variant.name), found.chosen)


def trial(
    vpn: Nebula, spec: LabSpec, measurement: type[Measurement[Any]] | None = None
) -> TrialFinding:
    """One trial, after which nothing of its lab is left, and no process of the VPN."""
    run_id = new_run_id()
    usual, parameters = SHORT["rtt_slow"]
    finding = Execution(
        vpn,
        spec,
        (measurement or usual)(),
        usual.Parameters.model_validate(parameters),
        Tunnels(lambda requested: NetnsLab(run_id, requested)),
    ).execute()
    assert left_of(run_id) == []
    assert [process for each in vpn.processes.values() for process in each] == []
    assert finding.remedy
    return finding


def mesh_spec(**blocked: Any) -> LabSpec:
    return LabSpec(topology=mesh(2, **blocked), link=LinkSpec())


@pytest.mark.parametrize("topology", [PAIR, routed()], ids=["pair", "routed"])
def test_a_topology_without_a_place_for_servers(topology: Topology) -> None:
    finding = trial(Hurried.like("nebula/relay"), LabSpec(topology=topology))
    assert finding.status is Status.FAILED
    assert "no node for a control server" in finding.reason
    assert "mesh" in finding.remedy


class Expired(Hurried):
    """The certificate of b ends before b starts, as for a clock that is days ahead."""

    def certify(self, node: Node) -> None:
        self._authority.issue(node, self.inner(node), lifetime="1s" if node.name == "b" else "")
        self.issued_s = time.time()

    def join(self, member: Node) -> None:
        wait_until(
            lambda: time.time() > self.issued_s + 2, what="the certificate ended", deadline_s=5
        )
        super().join(member)


def test_an_expired_certificate() -> None:
    finding = trial(Expired.like("nebula/aes"), mesh_spec())
    assert finding.status is Status.FAILED
    assert "node b" in finding.reason
    assert "expired" in finding.reason


def test_a_member_whose_clock_is_a_day_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    day_ns = 86_400 * 10**9
    monkeypatch.setattr(
        NetnsNode, "realtime_ns", lambda node: time.time_ns() + (node.name == "b") * day_ns
    )
    finding = trial(Expired.like("nebula/aes"), mesh_spec())
    assert finding.status is Status.FAILED
    assert "the clock of node b is 86400 s ahead of that of node " in finding.reason
    assert "expired" in finding.reason
    assert finding.remedy.startswith("set the clocks")


class TakenAddresses(Hurried):
    """An interface on node b has an address that the mesh is about to use."""

    def configure(self) -> None:
        super().configure()
        for words in ("tuntap add dev other0 mode tun", "address add 198.19.0.9/24 dev other0"):
            self.lab.b.run(["ip", *words.split()])


def test_addresses_of_another_vpn() -> None:
    finding = trial(TakenAddresses.like("nebula/aes"), mesh_spec())
    assert finding.status is Status.UNSUPPORTED
    assert "198.19.0.0/16, and other0 has 198.19.0.9/24" in finding.reason
    assert "other0" in finding.remedy


class ExpiresAfterwards(Hurried):
    """The certificate of b is valid when it starts, and not when a calls."""

    def certify(self, node: Node) -> None:
        self._authority.issue(node, self.inner(node), lifetime="3s" if node.name == "b" else "")
        self.issued_s = time.time()

    def reach(self, path: Path) -> None:
        wait_until(
            lambda: time.time() > self.issued_s + 4, what="the certificate ended", deadline_s=8
        )
        super().reach(path)


def test_a_certificate_that_expires_while_its_member_runs() -> None:
    finding = trial(ExpiresAfterwards.like("nebula/aes"), mesh_spec())
    assert finding.status is Status.FAILED
    assert "Invalid certificate from host" in finding.reason  # in the log of a


class LosesItsLighthouse(Rtt):
    """The lighthouse is killed before the packets are sent."""

    def run(self, session: Session, parameters: BaseParameters) -> Outcome:
        (control,) = session.lab.of_role(Role.CONTROL)
        (process,) = session.vpn.processes[control.name]
        process.stop(grace_s=0)
        return super().run(session, parameters)  # type: ignore[arg-type]


def test_a_lighthouse_that_dies_in_a_trial() -> None:
    finding = trial(Hurried.like("nebula/aes"), mesh_spec(), LosesItsLighthouse)
    assert finding.status is Status.FAILED
    assert "nebula on node control was killed" in finding.reason


class RelayUnreachable(Hurried):
    """The relay's link goes down before a path is reached."""

    def join(self, member: Node) -> None:
        for relay in self.lab.of_role(Role.RELAY):
            relay.set_link(relay.underlay.device, up=False)
        super().join(member)


def test_a_relay_that_is_unreachable() -> None:
    finding = trial(RelayUnreachable.like("nebula/relay"), mesh_spec())
    assert finding.status is Status.FAILED
    assert "relay" in finding.reason


def test_a_member_whose_udp_is_blocked() -> None:
    finding = trial(Hurried.like("nebula/aes"), mesh_spec(block_udp=["b"]))
    assert finding.status is Status.FAILED
    assert "the lighthouse (node control) had the address of node b" in finding.reason
    assert "the router fwb dropped" in finding.reason


class Blocked(Hurried):
    """UDP between the two members never passes."""

    def prepare(self, lab: Lab) -> None:
        super().prepare(lab)
        UdpBlock(lab, lab.path).begin()


@pytest.mark.parametrize(
    ("word", "status", "reason"),
    [
        ("nebula/aes", Status.FAILED, "through the tunnel"),
        (
            "nebula/aes+fallback",
            Status.INVALID,
            "the path's route at the start: a>b: relayed through relay; "
            "nebula/aes+fallback claims direct",
        ),
    ],
)
def test_a_member_that_never_becomes_direct(word: str, status: Status, reason: str) -> None:
    finding = trial(Blocked.like(word), mesh_spec())
    assert finding.status is status
    assert reason in finding.reason


def test_a_program_that_is_dead_has_no_route(lab: LabFactory) -> None:
    vpn = Hurried.like("nebula/aes")
    made = lab(LabSpec(topology=serving(mesh(2), vpn.needs)))
    vpn.prepare(made)
    bring_up(vpn)
    vpn.crash(made.b)
    for request in (vpn.determine_route, vpn.drop):
        with pytest.raises(VpnError, match=r"node b: Nebula's console (ended|does not)"):
            request(made.path)
    vpn.stop(made)
