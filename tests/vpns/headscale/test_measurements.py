"""Measurements of meshes with Headscale: policies, and an idle tunnel."""

from __future__ import annotations

import pytest

from culvert.measurements.acl.acl import Acl
from culvert.measurements.tunnel.idle_cost import IdleCost
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from culvert.vpns.abilities import Protocol
from tests.run.cells import measure, value, vpn
from tests.vpns.tunnels import skip_reason

WORD = "headscale/direct"
TWO = LabSpec(topology=mesh(2), link=LinkSpec())
pytestmark = [
    pytest.mark.lab,
    pytest.mark.vpn,
    pytest.mark.skipif(bool(skip_reason(WORD)), reason=skip_reason(WORD)),
]


def share(finding: TrialFinding, name: str, protocol: Protocol) -> float:
    (found,) = (
        metric.value
        for metric in finding.outcome.metrics
        if metric.name == name and metric.labels == {"protocol": protocol.value}
    )
    return found


def test_of_what_a_policy_forbids_only_pings_pass() -> None:
    finding = measure(vpn(WORD), Acl(), {"try": "300ms"}, TWO)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "permitted_share") == 1
    assert share(finding, "forbidden_share", Protocol.TCP) == 0
    assert share(finding, "forbidden_share", Protocol.UDP) == 0
    # Where anything is permitted; the policy that permits nothing forbids them too.
    assert share(finding, "forbidden_share", Protocol.ICMP) == pytest.approx(2 / 3)


@pytest.mark.parametrize("word", [WORD, pytest.param("headscale/relay", marks=pytest.mark.long)])
def test_an_idle_tunnel_keeps_its_route(word: str) -> None:
    finding = measure(vpn(word), IdleCost(), {"settle": "2s", "duration": "3s"}, TWO)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "idle_packets_per_hour") >= 0
    assert value(finding, "wakeups_per_hour") > 0
