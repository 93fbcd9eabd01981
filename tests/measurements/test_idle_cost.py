"""A tunnel that carries nothing: what is counted, and how it becomes a figure per hour."""

from __future__ import annotations

from typing import ClassVar

import pytest

from culvert.labs.node import Node
from culvert.measurements.tunnel.idle_cost import HOUR_S, IdleCost
from culvert.results import Status
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec
from culvert.vpns.wireguard.driver import WireGuard
from tests.run.cells import by_node, measure, value, vpn
from tests.vpns.tunnels import skip_reason

pytestmark = pytest.mark.lab
SHORT = {"settle": "0s", "duration": "1500ms"}
needs_wireguard = pytest.mark.skipif(
    bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go")
)
"""A frame of WireGuard's keepalive: Ethernet, IP, UDP, header and tag, no padding."""
KEEPALIVE_FRAME = 14 + 20 + 8 + 16 + 16


class Chatty(WireGuard):
    """With a keepalive each second, and counted on the source's link."""

    variants: ClassVar = WireGuard.variants

    def _await_handshake(self, source: Node, target: Node) -> None:
        super()._await_handshake(source, target)
        key = self._keys.public(target.name)
        every_second = ("persistent_keepalive_interval", "1")
        self.control.configure(source, [key, ("update_only", "true"), every_second])


def test_nothing_crosses_the_baselines_link() -> None:
    finding = measure(vpn("none"), IdleCost(), SHORT)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "idle_packets_per_hour") == value(finding, "idle_bytes_per_hour") == 0
    assert 1.5 <= value(finding, "observed_s") < 3
    names = {metric.name for metric in finding.outcome.metrics}
    assert "wakeups_per_hour" not in names  # there is no process


@pytest.mark.vpn
@needs_wireguard
def test_packets_of_a_keepalive_are_scaled_to_an_hour() -> None:
    finding = measure(Chatty(WireGuard.variants[0]), IdleCost(), {**SHORT, "duration": "3500ms"})
    assert (finding.status, finding.reason) == (Status.OK, "")
    hours = value(finding, "observed_s") / HOUR_S
    packets = value(finding, "idle_packets_per_hour") * hours
    assert packets == pytest.approx(round(packets))
    assert 3 <= round(packets) <= 5  # one may be the answer of the responder's own timer
    assert value(finding, "idle_bytes_per_hour") * hours == pytest.approx(
        KEEPALIVE_FRAME * round(packets)
    )


@pytest.mark.vpn
@needs_wireguard
def test_wakeups_and_cpu_are_the_sum_of_both_ends_and_given_by_node() -> None:
    finding = measure(vpn("wireguard/go"), IdleCost(), SHORT, LabSpec(topology=star(2)))
    assert (finding.status, finding.reason) == (Status.OK, "")
    for name in ("wakeups_per_hour", "idle_cpu_s_per_hour"):
        each = by_node(finding, name)
        assert each.keys() == {"c1", "gateway", "c2"}
        assert value(finding, name) == pytest.approx(each["c1"] + each["gateway"])
    links = by_node(finding, "idle_bytes_per_hour")
    assert links.keys() == {"c1", "gateway", "c2", "core"}
