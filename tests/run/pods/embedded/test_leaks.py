"""What leaves a node beside WireGuard."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from culvert.errors import LabError
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.proof.alive import still_carries
from culvert.proof.cluster.judge import Protection
from culvert.results import Status
from culvert.run.pods import check
from culvert.run.pods.embedded import EmbeddedClusters, UnderEmbedded
from culvert.run.pods.session import PodSession
from culvert.topology.spec import Placement
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from tests.run.pods.embedded.running import (
    MARKS,
    WIREGUARD,
    executed,
    over,
    reached_and_proved,
)
from tests.run.pods.leaks import KINDS, beside_the_vpn, copied_clear

pytestmark = MARKS


@pytest.mark.parametrize("leaking", list(KINDS))
def test_a_leak_of_one_kind_of_traffic_is_found_and_named(
    clusters: EmbeddedClusters, leaking: Placement
) -> None:
    with beside_the_vpn(over(clusters, WIREGUARD), leaking):
        proved = {
            one.placement: one for one in check.summary(clusters, WIREGUARD, list(KINDS)).proved
        }
    verdict = proved[leaking].verdict
    assert verdict is not None, proved[leaking].reason
    assert verdict.wire is Protection.CLEAR
    assert f"{KINDS[leaking]}: clear" in proved[leaking].text
    assert "u0 of a" in proved[leaking].text
    expected = {leaking} | ({Placement.SERVICE} if leaking is Placement.TWO_NODES else set())
    assert {kind for kind, one in proved.items() if not one.ok} == expected


def test_a_clear_copy_over_a_second_link_without_addresses_is_found(
    clusters: EmbeddedClusters,
) -> None:
    under = over(clusters, WIREGUARD)
    with copied_clear(under):
        (proved,) = check.summary(clusters, WIREGUARD, [Placement.TWO_NODES]).proved
        found = reached_and_proved(under)
    assert not proved.ok
    assert "clear, readable in" in proved.text
    assert "on second of a" in proved.text
    assert found.status is Status.INVALID
    assert "second of a" in found.reason


class Restarted(Rtt):
    """Between two measurements Calico's agent is killed, and until it is back packets of pods to
    node b leave a beside the VPN."""

    def __init__(self, under: UnderEmbedded) -> None:
        assert under.over.cluster is not None
        self.under, self.cluster = under, under.over.cluster
        self.ended = False

    def run(self, session: Session, parameters: RttParameters) -> Outcome:
        super().run(session, parameters)
        self.cluster.nodes["a"].run(["/bin/sh", "-c", KILL_AGENT])
        with beside_the_vpn(self.under, Placement.TWO_NODES):
            outcome = super().run(session, parameters)
        if self.ended:
            raise LabError("the measurement", "has ended early", "none")
        return outcome


KILL_AGENT = """
for process in /proc/[0-9]*; do
  [ "$(cat $process/comm)" = calico-node ] && kill -9 ${process#/proc/} && killed=yes
done
[ "$killed" = yes ]
"""


@pytest.mark.parametrize("ended", [False, True])
def test_a_leak_while_the_agent_restarts_makes_the_trial_invalid(
    clusters: EmbeddedClusters, ended: bool
) -> None:
    """Whether the measurement then has a figure or not."""
    measurement = Restarted(over(clusters, WIREGUARD))
    measurement.ended = ended
    parameters = RttParameters.model_validate({"probes": 500, "rate": "1000/s"})
    found = executed(clusters, WIREGUARD, measurement, parameters)
    assert found.status is Status.INVALID, found.reason
    assert "nothing clear during the measurement (pod to pod): readable in" in found.reason
    assert "u0 of a" in found.reason
    assert not found.evidence.proved


class TenLeaked(Rtt):
    """Ten of its packets leave a beside the VPN."""

    def __init__(self, under: UnderEmbedded) -> None:
        self.under = under

    def run(self, session: Session, parameters: RttParameters) -> Outcome:
        outcome = super().run(session, parameters)
        with beside_the_vpn(self.under, Placement.TWO_NODES):
            super().run(session, parameters.model_copy(update={"probes": 10}))
        return outcome


def test_ten_packets_that_leak_make_the_trial_invalid(clusters: EmbeddedClusters) -> None:
    measurement = TenLeaked(over(clusters, WIREGUARD))
    parameters = RttParameters.model_validate({"probes": 500, "rate": "1000/s"})
    found = executed(clusters, WIREGUARD, measurement, parameters)
    assert found.status is Status.INVALID, found.reason
    assert "nothing clear during the measurement (pod to pod): readable in 1" in found.reason


def test_a_leak_that_begins_at_the_end_makes_the_trial_invalid(
    clusters: EmbeddedClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From then on, when nobody watches the VPN any more, packets of pods to node b leave a beside
    it."""
    parameters = RttParameters.model_validate({"probes": 100, "rate": "1000/s"})
    with ExitStack() as stack:

        def leaking(session: PodSession) -> Check:
            check = still_carries(session)
            stack.enter_context(beside_the_vpn(over(clusters, WIREGUARD), Placement.TWO_NODES))
            return check

        monkeypatch.setattr("culvert.run.pods.stage.still_carries", leaking)
        found = executed(clusters, WIREGUARD, Rtt(), parameters)
    assert found.status is Status.INVALID, found.reason
    assert "encrypted between the nodes (pod to pod, after the measurement)" in found.reason
