"""What a prepared VPN is about to use on its nodes, and what of its tunnel silently changes a
result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from culvert.errors import NotPossible
from culvert.labs.base import Footprint, Lab
from culvert.labs.node import Node, Steerable
from culvert.vpns.base import Vpn
from culvert.vpns.outer import OuterFlow
from culvert.vpns.parts.aes import aes_use, require_requested_aes


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
    return Footprint(devices, kept, (lab.tunnels,), vpn.tables, vpn.firewall_tables)


def _flows(flow: OuterFlow) -> Iterator[OuterFlow]:
    yield flow
    for other in flow.also:
        yield from _flows(other)


def traps(vpn: Vpn, lab: Lab) -> dict[str, str]:
    """AES instructions, threads and the tunnel's device, in words.

    Raises NotPossible if they differ from the condition's request.
    """
    if vpn.outer_flow is None:
        return {}
    use = aes_use(vpn, lab)
    require_requested_aes(lab.spec.processors.aes, use)
    found = {"AES instructions": use.how}
    threads = _threads(vpn, lab)
    if threads:
        found["threads"] = threads
    devices = {node.name: _device(vpn, node) for node in (lab.a, lab.b)}
    different = list(dict.fromkeys(filter(None, devices.values())))
    if len(different) == 1:
        found["tunnel device"] = different[0]
    elif different:
        found["tunnel device"] = "; ".join(f"{name}: {text}" for name, text in devices.items())
    return found


def steer_tunnels(vpn: Vpn, lab: Lab) -> None:
    """Steer the packets of the VPN's own devices as the condition requests. The baseline has none.
    Raises NotPossible if the VPN or its device cannot have it."""
    requested = lab.spec.processors.tunnel
    if not requested or vpn.outer_flow is None:
        return
    for node in lab.members:
        devices = vpn.interfaces(node)
        if node.underlay.device in devices or not isinstance(node, Steerable):
            raise NotPossible(
                f"tunnel_rps, tunnel_xps with {vpn.id}",
                f"it has no device of its own on node {node.name} whose packets could be steered",
                "leave it out in this condition, or steer the underlay: rps, xps",
            )
        for device in devices:
            node.steer(device, requested)


def _threads(vpn: Vpn, lab: Lab) -> str:
    """Of the ends of the first path."""
    counts = []
    for node in (lab.a, lab.b):
        for process in vpn.processes[node.name]:
            counts.append(f"{process.name} on {node.name}: {process.threads() or 0}")
    return ", ".join(counts)


def _device(vpn: Vpn, node: Node) -> str:
    device = vpn.interface(node)
    if device == node.underlay.device:
        return ""
    link, facts = node.link(device), node.device_facts(device)
    if link is None:
        return ""
    offloads = " ".join(facts.get("offloads_on", ())) or "none"
    queueing = " ".join(facts.get("queueing", ())) or "none"
    return f"{link.kind}, MTU {link.mtu}, queueing {queueing}, super-packets: {offloads}"
