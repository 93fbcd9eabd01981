"""What the tests of the drivers ask of a tunnel that is up."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from culvert.vpns import lifecycle, registry
from culvert.vpns.base import Vpn
from culvert.vpns.contract.observe import captured_on, pings_answered
from culvert.vpns.outer import OuterPacket
from tests.here import HERE

PINGS = 3


def driver(text: str) -> Vpn:
    """The driver for ``name/variant+option``."""
    return registry.create(registry.parse(text))


def planned(text: str) -> Vpn:
    """The driver for a lab that nobody opens: enough for what follows from the links' MTU."""
    vpn = driver(text)
    vpn._lab = NetnsLab(new_run_id(), LabSpec())
    return vpn


def skip_reason(text: str) -> str:
    """What this machine lacks for it; empty if nothing."""
    return "; ".join(f"{lack.what}: {lack.remedy}" for lack in driver(text).missing(HERE))


def installed(text: str, *marks: pytest.MarkDecorator) -> ParameterSet:
    """The VPN as a parameter of a test, which is skipped where the machine lacks it."""
    why_not = skip_reason(text)
    return pytest.param(text, marks=[*marks, pytest.mark.skipif(bool(why_not), reason=why_not)])


def bring_up(vpn: Vpn, lab: Lab) -> None:
    """From nothing to a tunnel."""
    vpn.prepare(lab)
    lifecycle.bring_up(vpn)


def answered(vpn: Vpn, lab: Lab) -> tuple[int, int]:
    """Pings that came back of PINGS: those of a, those of b."""

    def pings(source: Node, target: Node) -> int:
        return pings_answered(source, vpn.inner(target).ip, count=PINGS)

    return pings(lab.a, lab.b), pings(lab.b, lab.a)


def largest_inner(vpn: Vpn, lab: Lab) -> int:
    """The longest inner packet that is fragmented neither inside nor outside."""
    link = lab.a.link(vpn.interface(lab.a))
    assert link is not None
    return max(
        length
        for length in range(64, link.mtu + 1)
        if (vpn.outer_length(length) or 0) <= lab.spec.link.mtu
    )


def outer_packets(vpn: Vpn, lab: Lab, inner: int) -> list[OuterPacket]:
    """What node a sends on the underlay while it pings b PINGS times with ``inner`` bytes."""
    flow = vpn.outer_flow
    assert flow is not None
    with captured_on(lab.a) as capture:
        assert pings_answered(lab.a, vpn.inner(lab.b).ip, length=inner, count=PINGS) == PINGS
        return [
            packet
            for packet in capture.packets()
            if packet.outgoing and flow.has(packet) and not vpn.is_handshake(packet)
        ]
