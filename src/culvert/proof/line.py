"""The rate of the links that carry a figure: no figure of the path is above it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from culvert.proof.reconcile import on_the_wire
from culvert.topology.graph import Role
from culvert.topology.link.spec import ETHERNET_HEADER, LinkSpec
from culvert.topology.shapes import CORE, GATEWAY
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session
from culvert.vpns.base import length_on_underlay


def star_bps(spec: LabSpec) -> float:
    """Bit/s of frames that all clients together can send through the gateway, or receive."""
    clients = {node.name for node in spec.topology.nodes if node.role is Role.CLIENT}
    links = [
        spec.link_of(network.name)
        for network in spec.topology.networks
        if clients & set(network.ends)
    ]
    return min(fastest_bps(spec.link_of(f"{GATEWAY}-{CORE}")), sum(map(fastest_bps, links)))


def fastest_bps(link: LinkSpec) -> float:
    """Bit/s of frames in the faster direction; infinite without a limit, or where it changes."""
    rates = [way.rate_on(link.rate_bps) for way in link.impairment.ways]
    return max(math.inf if rate is None else rate for rate in rates)


def line_pps(session: Session[Any], sizes: Sequence[int], line_bps: float) -> float:
    """Inner packets of these sizes, in turn, that a link of this rate carries with the VPN's
    overhead: RFC 2544's maximum rate of the medium."""
    spec = session.lab.spec
    frames = [
        ETHERNET_HEADER
        + on_the_wire(
            length_on_underlay(session.vpn, size) or size, session.link.mtu, spec.underlay
        )
        for size in sizes
    ]
    return line_bps * len(frames) / (8 * sum(frames))
