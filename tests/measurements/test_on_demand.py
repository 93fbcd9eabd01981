"""A real VPN that initiates on demand: the first request sets off the handshake of a warm start.

WireGuard sends a handshake for the first packet to a peer without keys, as strongSwan does for a
trap policy of the kernel.
"""

from __future__ import annotations

import pytest

from culvert.journal.record import Status
from culvert.measurements.tunnel.initiation import Initiation
from culvert.topology.graph import Path
from culvert.vpns.wireguard.driver import _KEEPALIVE, WireGuard
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
        peer = [pair for pair in self._with_endpoint(self.target) if pair[0] != _KEEPALIVE]
        self.control.configure(self.source_of(path), peer)


class Early(OnDemand):
    """The same, but a command is expected to start it, which none does in time."""

    on_demand = False


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
def test_a_driver_that_hides_it_is_found_out() -> None:
    if lacks := skip_reason(WORD):
        pytest.skip(lacks)
    given = driver(WORD)
    # On a busy machine the command may come before the first request after all.
    for _ in range(3):
        finding = measure(Early(given.variant), Initiation(), {"cycles": CYCLES, "start": "warm"})
        if finding.status is Status.INVALID:
            break
    assert finding.status is Status.INVALID
    assert "the command set off the handshake" in finding.reason
    assert "on_demand" in finding.remedy
