"""What a prepared VPN is about to use on its nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from culvert.labs.base import Lab
from culvert.labs.footprint import Footprint
from culvert.vpns.base import Vpn
from culvert.vpns.outer import OuterFlow


def footprint(vpn: Vpn, lab: Lab) -> Footprint:
    """Devices, ports, addresses and tables of a VPN; of the baseline nothing."""
    if vpn.outer_flow is None:
        return Footprint({}, {}, ())
    devices = {}
    for node in lab.members:
        device = vpn.interface(node)
        if device != node.underlay.device:
            devices[node.name] = device
    ports: dict[int, set[int]] = defaultdict(set)
    for flow in _flows(vpn.outer_flow):
        ports[flow.protocol] |= flow.ports
    kept = {protocol: frozenset(numbers) for protocol, numbers in ports.items()}
    networks = (vpn.fixed_range or lab.tunnels,)
    return Footprint(devices, kept, networks, vpn.tables, vpn.firewall_tables)


def _flows(flow: OuterFlow) -> Iterator[OuterFlow]:
    yield flow
    for other in flow.also:
        yield from _flows(other)
