"""From direct to relayed and back: found by the program's report and by the relay's packets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from culvert.measurements.tunnel.failover import Failover
from culvert.results import Status
from culvert.run.trials.finding import TrialFinding
from culvert.topology.graph import Path
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from culvert.vpns.base import Vpn, underlay_address
from culvert.vpns.nebula.driver import Nebula
from culvert.vpns.nebula.settings import CONFIG
from culvert.vpns.variant import Route
from culvert.vpns.wireguard.variants import PORT
from tests.run.cells import measure, value, vpn
from tests.vpns.relayed import RELAY, VIA_RELAY, Direct, Relayed
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
MESH = LabSpec(topology=mesh(2), link=LinkSpec())
RATE_PPS = 200
READINGS = 3
"""Of the direct route: one before the block, so that it drops packets."""
SHORT = {"hold": "500ms", "relay_max": "3s", "direct_max": "3s", "rate": f"{RATE_PPS}/s"}
needs_wireguard = pytest.mark.skipif(
    bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go")
)
needs_nebula = pytest.mark.skipif(bool(skip_reason("nebula/aes")), reason=skip_reason("nebula/aes"))


def switched(contestant: Vpn, parameters: Mapping[str, Any]) -> TrialFinding:
    return measure(contestant, Failover(), dict(parameters), MESH)


class QuickNebula(Nebula):
    """It looks at its tunnels every second, by default every 5 and 10."""

    def configure(self) -> None:
        super().configure()
        for node in self.lab.members:
            configuration = json.loads(node.read(str(node.directory / CONFIG)))
            timers = {"connection_alive_interval": 1, "pending_deletion_interval": 1}
            node.write(CONFIG, json.dumps({**configuration, "timers": timers}))


@needs_nebula
def test_there_and_back() -> None:
    found = vpn("nebula/aes+fallback")
    finding = switched(
        QuickNebula(found.variant, found.chosen),
        {**SHORT, "relay_max": "30s", "direct_max": "30s", "hold": "1s"},
    )
    assert (finding.status, finding.reason) == (Status.OK, "")
    for switch in ("to_relay", "to_direct"):
        assert value(finding, f"{switch}_reported_ms") > 0
        assert value(finding, f"{switch}_resolution_ms") > 0
        lost = value(finding, f"{switch}_lost_packets")
        assert value(finding, f"{switch}_outage_ms") == pytest.approx(1e3 * lost / RATE_PPS)
    assert value(finding, "to_relay_lost_packets") > 0
    assert value(finding, "dropped_packets") > 0
    at_relay = {
        (metric.labels["switch"], metric.labels["when"]): metric.value
        for metric in finding.outcome.metrics
        if metric.name == "relay_packets"
    }
    assert at_relay["relay", "after"] > RATE_PPS > at_relay["relay", "before"]
    assert at_relay["direct", "before"] > RATE_PPS > at_relay["direct", "after"]
    series = {tuple(sorted(one.labels.items())) for one in finding.outcome.series}
    assert len(series) == 4


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("none", "has no relay"),
        pytest.param("nebula/aes", "has no relay", marks=needs_nebula),
        pytest.param("nebula/relay", "keeps its path relayed", marks=needs_nebula),
    ],
)
def test_a_vpn_that_cannot_switch_is_unsupported(word: str, reason: str) -> None:
    finding = switched(vpn(word), SHORT)
    assert finding.status is Status.UNSUPPORTED
    assert reason in finding.reason
    assert finding.remedy


class PretendsToSwitch(Direct):
    """After a while it reports the relay, which its packets do not use."""

    asked = 0

    def determine_route(self, path: Path) -> Route:
        self.asked += 1
        return super().determine_route(path) if self.asked <= READINGS else VIA_RELAY


class SticksToRelay(PretendsToSwitch):
    """Its packets do use the relay, for ever."""

    def determine_route(self, path: Path) -> Route:
        if self.asked == READINGS:
            endpoint = f"{underlay_address(self.lab.nodes[RELAY])}:{PORT}"
            peer = [self._keys.public(self.target.name), ("update_only", "true")]
            self.control.configure(self.lab.a, [*peer, ("endpoint", endpoint)])
        return super().determine_route(path)


@needs_wireguard
@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (Direct, "the path becomes relayed: a>b: after 3 s at most, the program reports direct"),
        (PretendsToSwitch, "traffic came back (relayed): no packet went through for 3 s"),
        (
            SticksToRelay,
            "the path becomes direct again: a>b: after 3 s at most, "
            "the program reports relayed through relay",
        ),
    ],
)
def test_a_path_that_never_switches_has_failed(driver: type[Relayed], reason: str) -> None:
    finding = switched(driver(driver.variants[0]), SHORT)
    assert finding.status is Status.FAILED
    assert reason in finding.reason
    assert "raise " in finding.remedy
    (dropped,) = (c for c in finding.evidence.checks if c.name == "the block dropped packets")
    assert dropped.passed
