"""What joining costs each member and server: bytes on its link, memory, CPU time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from culvert.labs.node import Node
from culvert.measurements.streams.packet import SMALLEST
from culvert.probe.client import Probe, Task
from culvert.probe.results import Accounted, parse
from culvert.topology.link.spec import ETHERNET_HEADER
from culvert.trial.accounting import begin_accounting, cpu_s, peak_bytes
from culvert.trial.session import Session
from culvert.vpns.base import length_on_underlay


@dataclass(frozen=True)
class NodeCost:
    """Bytes of IP packets on the node's link in both directions; ``control_bytes`` without those
    that carried the pairs' packets (None if the VPN's packets do not map one to one)."""

    node: str
    role: str
    link_bytes: int
    control_bytes: int | None = None
    memory_bytes: int | None = None
    cpu_s: float = 0.0
    sent_packets: int = 0
    """On its link, as ``received_packets``."""
    received_packets: int = 0


@dataclass(frozen=True)
class Costs:
    """Of all members and servers."""

    members: list[NodeCost]
    servers: list[NodeCost]

    @property
    def sent_by_members(self) -> int:
        return sum(cost.sent_packets for cost in self.members)

    @property
    def received_by_servers(self) -> int:
        return sum(cost.received_packets for cost in self.servers)


def watch_links(session: Session, probes: Mapping[str, Probe]) -> dict[str, Task]:
    """Begin to count the bytes of each member's and server's link, and account for the servers'
    processes, which run already."""
    vpn = session.vpn
    nodes = [*session.lab.members, *session.lab.of_role(*vpn.needs)]
    tasks = {
        node.name: begin_accounting(
            probes[node.name], vpn.processes[node.name], [node.underlay.device]
        )
        for node in nodes
    }
    for task in tasks.values():
        task.ready()
    return tasks


def costs_of(
    session: Session, links: Mapping[str, Task], members: Mapping[str, Accounted]
) -> Costs:
    """End the counting. ``members`` have the accounting of each member's interface and
    processes."""
    nodes = session.lab.nodes
    counted = {name: parse(Accounted, task.stop()) for name, task in links.items()}
    return Costs(
        [_member(session, nodes[name], counted[name], used) for name, used in members.items()],
        [_cost(nodes[name], used, used) for name, used in counted.items() if name not in members],
    )


def _member(session: Session, node: Node, counted: Accounted, used: Accounted) -> NodeCost:
    cost = _cost(node, counted, used)
    inner = used.device(session.vpn.interface(node))
    outer_length = length_on_underlay(session.vpn, SMALLEST)
    if inner is None or outer_length is None:
        return cost
    carried = (inner.rx_packets + inner.tx_packets) * outer_length
    # Packets that waited in vain for a tunnel are on the interface, but not on the link.
    return replace(cost, control_bytes=max(cost.link_bytes - carried, 0))


def _cost(node: Node, counted: Accounted, used: Accounted) -> NodeCost:
    """What was ``counted`` on its link, and what its processes ``used``."""
    link = counted.counts(node.underlay.device)
    headers = ETHERNET_HEADER * (link.rx_packets + link.tx_packets)
    return NodeCost(
        node.name,
        str(node.role),
        link_bytes=link.rx_bytes + link.tx_bytes - headers,
        memory_bytes=peak_bytes(used.processes) if used.processes else None,
        cpu_s=cpu_s(used.processes),
        sent_packets=link.tx_packets,
        received_packets=link.rx_packets,
    )
