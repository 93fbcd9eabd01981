"""A trial that something outside of it spoils: a clear status and reason, and nothing is left."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest

from culvert.labs.netns.node import NetnsNode
from culvert.labs.node import Node
from culvert.measurements.base import BaseParameters
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.topology.graph import Role
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.headscale.driver import Headscale
from culvert.vpns.headscale.relay import Relay
from culvert.vpns.variant import Variant
from tests.run.cells import SHORT, measure
from tests.vpns.tunnels import skip_reason

WORD = "headscale/direct"
pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.usefixtures("outside"),
    pytest.mark.skipif(bool(skip_reason(WORD)), reason=skip_reason(WORD)),
]


_DROP = """\
table ip unreachable {
  chain arrives {
    type filter hook input priority filter; policy drop;
  }
}
"""


class Hasty(Headscale):
    """Gives up soon."""

    variants: ClassVar[tuple[Variant, ...]] = Headscale.variants
    up_deadline_s = 6.0


class KeyExpires(Hasty):
    key_lifetime = "1ms"


class NoRelay(Hasty):
    """Nothing reaches derper."""

    def serve(self, server: Node) -> None:
        super().serve(server)
        if server.role is Role.RELAY:
            server.run(["nft", "-f", "-"], stdin=_DROP)


class ClockOfTomorrow(Hasty):
    """The relay's clock is a day ahead of the members'. All namespaces have one clock: the relay's
    certificate is that of such a node, and ``CLOCK`` is what the node reports."""

    CLOCK: ClassVar = timedelta(days=1)

    def configure(self) -> None:
        super().configure()
        (node,) = self.lab.of_role(Role.RELAY)
        self._relay = Relay.new(
            node, tls=True, ports=self.ports, now=datetime.now(UTC) + self.CLOCK
        )
        self._relay.write()
        self._control.write(self._relay.map(measured=False))


class TakenAddresses(Hasty):
    """Another VPN's interface is on node b."""

    def configure(self) -> None:
        super().configure()
        for words in ("tuntap add dev other0 mode tun", "address add 100.64.7.1/24 dev other0"):
            self.lab.b.run(["ip", *words.split()])


class NoControl(Hasty):
    """The control server is killed before a member joins."""

    def serve(self, server: Node) -> None:
        super().serve(server)
        for process in self.processes["control"]:
            process.stop(grace_s=0)


class KillsHeadscale(Rtt):
    def run(self, session: Session, parameters: BaseParameters) -> Outcome:
        (headscale,) = session.vpn.processes["control"]
        headscale.stop(grace_s=0)
        assert isinstance(parameters, RttParameters)
        return super().run(session, parameters)


def trial(
    driver: type[Headscale], *, relayed: bool = False, spec: LabSpec | None = None
) -> TrialFinding:
    measurement, parameters = SHORT["rtt"]
    contestant = driver(driver.variants[1 if relayed else 0])
    return measure(contestant, measurement(), parameters, spec or LabSpec(topology=mesh(2)))


def test_a_key_that_has_expired() -> None:
    finding = trial(KeyExpires)
    assert finding.status is Status.FAILED
    assert "it did not register" in finding.reason
    assert "expired" in finding.reason


def test_a_relay_that_does_not_answer() -> None:
    finding = trial(NoRelay, relayed=True)
    assert finding.status is Status.FAILED
    assert "not after 6 s" in finding.reason
    assert "region 900" in finding.reason


def test_a_relay_whose_clock_is_a_day_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    def realtime_ns(node: NetnsNode) -> int:
        ahead = ClockOfTomorrow.CLOCK if node.role is Role.RELAY else timedelta()
        return time.time_ns() + round(1e9 * ahead.total_seconds())

    monkeypatch.setattr(NetnsNode, "realtime_ns", realtime_ns)
    finding = trial(ClockOfTomorrow, relayed=True)
    assert finding.status is Status.FAILED
    assert finding.reason.startswith(
        "headscale/relay: the clock of node relay is 86400 s ahead of that of node "
    )
    assert "; noticed as: headscale/relay: not after 6 s" in finding.reason
    assert finding.remedy.startswith("set the clocks")


def test_addresses_of_another_vpn() -> None:
    finding = trial(TakenAddresses)
    assert finding.status is Status.UNSUPPORTED
    assert "100.64.0.0/10, and other0 has 100.64.7.1/24" in finding.reason
    assert "other0" in finding.remedy


def test_a_member_that_never_becomes_direct() -> None:
    finding = trial(Hasty, spec=LabSpec(topology=mesh(2, block_udp=["a"])))
    assert finding.status is Status.FAILED
    assert "had a direct path to node" in finding.reason
    assert "through relay" in finding.reason


def test_a_control_server_that_dies_before_the_members_join() -> None:
    finding = trial(NoControl)
    assert finding.status is Status.FAILED
    assert "headscale on node control was killed" in finding.reason
    assert "; noticed as: " in finding.reason
    assert finding.remedy


def test_a_control_server_that_dies_during_the_measurement() -> None:
    _, parameters = SHORT["rtt"]
    contestant = Hasty(Hasty.variants[0])
    finding = measure(contestant, KillsHeadscale(), parameters, LabSpec(topology=mesh(2)))
    assert finding.status is Status.FAILED
    assert "headscale on node control" in finding.reason
