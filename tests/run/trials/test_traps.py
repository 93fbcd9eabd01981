"""Steering the packets of the VPN's own devices."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from culvert.errors import NotPossible
from culvert.labs.cpu import steering
from culvert.labs.netns.lab import NetnsLab
from culvert.results import Status
from culvert.run.trials.traps import steer_tunnels
from culvert.topology.spec import LabSpec, Processors, Steering
from culvert.vpns.lifecycle import bring_up
from tests.run.cells import execute, vpn
from tests.vpns.tunnels import driver, skip_reason

STEERED = LabSpec(processors=Processors(tunnel=Steering(rps=True)))
pytestmark = pytest.mark.lab


@pytest.mark.vpn
def test_receive_steering_is_on_at_the_tunnels_and_transmit_steering_needs_several_queues(
    lab: Callable[..., NetnsLab],
) -> None:
    if lacks := skip_reason("wireguard/go"):
        pytest.skip(lacks)
    opened, tunnel = lab(STEERED), driver("wireguard/go")
    try:
        tunnel.prepare(opened)
        bring_up(tunnel)
        steer_tunnels(tunnel, opened)
        for node in opened.members:
            found = steering.read(node, tunnel.interface(node))["rx-0/rps_cpus"]
            assert int(found.replace(",", ""), 16) > 0
            assert int(steering.read(node, node.underlay.device)["rx-0/rps_cpus"], 16) == 0
        opened.spec = LabSpec(processors=Processors(tunnel=Steering(xps=True)))
        with pytest.raises(NotPossible, match=r"XPS on .*: the device has a single queue"):
            steer_tunnels(tunnel, opened)
    finally:
        tunnel.stop(opened)


def test_the_baseline_has_nothing_to_steer_and_is_measured() -> None:
    assert execute(vpn("none"), "icmp", STEERED).status is Status.OK


def test_a_measurement_that_starts_the_vpn_itself_is_unsupported() -> None:
    finding = execute(vpn("none"), "initiation", STEERED)
    assert finding.status is Status.UNSUPPORTED
    assert "initiation starts the VPN itself" in finding.reason
