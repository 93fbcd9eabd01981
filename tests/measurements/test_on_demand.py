"""A real VPN that initiates on demand: the first request sets off the handshake of a warm start.

WireGuard sends a handshake for the first packet to a peer without keys, as strongSwan does for a
trap policy of the kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from culvert.labs.netns.node import NetnsNode
from culvert.labs.node import Node
from culvert.measurements.tunnel.initiation import Initiation
from culvert.results import Status
from culvert.topology.graph import Path
from culvert.vpns.wireguard.driver import WireGuard
from culvert.vpns.wireguard.peers import KEEPALIVE
from tests.quiet import quiet
from tests.run.cells import measure
from tests.vpns.tunnels import driver, skip_reason

WORD = "wireguard/go"
CYCLES = 3


class OnDemand(WireGuard):
    """After drop() the peer is known, and nothing but a packet for it starts a handshake."""

    on_demand = True

    def drop(self, path: Path) -> None:
        super().drop(path)
        peer = [pair for pair in self._with_endpoint(self.target) if pair[0] != KEEPALIVE]
        self.control.configure(self.source_of(path), peer)


class Early(OnDemand):
    """The same, but a command is expected to start it, which comes after the first request."""

    on_demand = False
    dropped: Node | None = None

    def drop(self, path: Path) -> None:
        super().drop(path)
        self.dropped = self.source_of(path)

    def late_command(self) -> Callable[[Node], int]:
        """To read a node's clock for the command after the handshake that the first request sets
        off."""

        def monotonic_ns(node: Node) -> int:
            if node is self.dropped:
                self.dropped = None
                self._await_handshake(node, self.target)
            return time.monotonic_ns()

        return monotonic_ns


class Unrouted(OnDemand):
    """After drop() no route of the source leads to the peer."""

    up_deadline_s = 1.0

    def drop(self, path: Path) -> None:
        super().drop(path)
        source = self.source_of(path)
        source.run([source.require("ip", ""), "route", "flush", "dev", self.interface(source)])


@pytest.mark.lab
@pytest.mark.vpn
def test_the_first_request_sets_off_a_warm_start() -> None:
    if lacks := skip_reason(WORD):
        pytest.skip(lacks)
    given = driver(WORD)
    finding = quiet(
        lambda: measure(OnDemand(given.variant), Initiation(), {"cycles": CYCLES, "start": "warm"})
    )
    assert finding.status is Status.OK, finding.reason
    values = {metric.name: metric.value for metric in finding.outcome.metrics if not metric.labels}
    # From the first request on: the handshake is a part of it, and its packets are counted.
    assert 0 < values["handshake_ms"] <= values["total_ms"]
    assert values["handshake_packets"] == 2


@pytest.mark.lab
@pytest.mark.vpn
def test_a_driver_that_hides_it_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    if lacks := skip_reason(WORD):
        pytest.skip(lacks)
    early = Early(driver(WORD).variant)
    monkeypatch.setattr(NetnsNode, "monotonic_ns", early.late_command())
    finding = measure(early, Initiation(), {"cycles": CYCLES, "start": "warm"})
    assert finding.status is Status.INVALID
    assert "the command started the handshake" in finding.reason
    assert "on_demand" in finding.remedy


@pytest.mark.lab
@pytest.mark.vpn
def test_a_start_without_an_answer_has_the_routes_in_its_reason() -> None:
    if lacks := skip_reason(WORD):
        pytest.skip(lacks)
    unrouted = Unrouted(driver(WORD).variant)
    finding = measure(unrouted, Initiation(), {"cycles": CYCLES, "start": "warm"})
    assert finding.status is Status.FAILED
    assert "ENETUNREACH" in finding.reason
    assert "rules of node a: 0:" in finding.reason
    assert "the start took " in finding.reason
    assert "routes: none" in finding.reason
